"""Replay of LLM inference traces against simulated workers behind the KV router.

    >>> import replay_sim
    >>> result = replay_sim.run("trace.jsonl", workers=4, block_size=16)
    >>> result.summary["mean_ttft_ms"]

The same trace, settings and version give the same result, byte for byte.
"""

from replay_sim._core import __revision__, __version__
from replay_sim.api import (
    Conversion,
    Progress,
    Result,
    Validation,
    convert,
    inspect,
    resolve_config,
    run,
    sample_trace,
    validate,
)
from replay_sim.errors import ConfigError, ReplayError, TraceError
from replay_sim.options import Options
from replay_sim.schemas import schema
from replay_sim.types import Inspection, Report, RequestRow, Summary

__all__ = [
    "ConfigError",
    "Conversion",
    "Inspection",
    "Options",
    "Progress",
    "ReplayError",
    "Report",
    "RequestRow",
    "Result",
    "Summary",
    "TraceError",
    "Validation",
    "__revision__",
    "__version__",
    "convert",
    "inspect",
    "resolve_config",
    "run",
    "sample_trace",
    "schema",
    "validate",
]
