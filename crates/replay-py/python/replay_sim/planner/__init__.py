"""How many workers a trace needs.

>>> from replay_sim import planner
>>> config = planner.validate({"backend": "vllm", "sla": {"ttft_ms": 1000}})
>>> planner.plan("trace.jsonl", config=config)["plan"]
{'aggregated': 4}
"""

from replay_sim.planner.config import (
    BACKENDS,
    Backend,
    PerformanceModel,
    PlannerConfig,
    PlannerConfigError,
    validate,
)
from replay_sim.planner.search import Plan, Probe, plan

__all__ = [
    "BACKENDS",
    "Backend",
    "PerformanceModel",
    "Plan",
    "PlannerConfig",
    "PlannerConfigError",
    "Probe",
    "plan",
    "validate",
]
