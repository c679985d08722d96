"""KV-cache-aware request routing under an explicit clock.

A host drives an :class:`OfflineRouter`: it places requests, reports cache events and the ends of
requests, and moves the clock. Nothing runs in the background and nothing reads the wall clock:
equal calls give equal answers. Below it are :class:`LocalScheduler` (selection, admission,
booking, queueing), :class:`SessionAffinity` (session bindings) and :class:`RadixTree` (the prefix
index), each usable alone.

Refused calls raise a :class:`RouterError`, which says what was wrong and what would be right, and
leave the state unchanged. Objects with state belong to the thread that made them.
"""

from kv_router._core import (
    CandidateLoad,
    Cleared,
    Decision,
    Hold,
    IndexCounters,
    Lease,
    LocalScheduler,
    Matches,
    OfflineRouter,
    Placed,
    PotentialLoad,
    RadixTree,
    Removed,
    Request,
    SessionAffinity,
    Stored,
    __revision__,
    __version__,
    affinity_key,
    block_hashes,
    sequence_hashes,
)
from kv_router.config import (
    AffinityConfig,
    ClassConfig,
    Overrides,
    PolicyConfig,
    RouterConfig,
    Session,
    WorkerConfig,
)
from kv_router.errors import (
    CapacityError,
    InvalidInputError,
    PlacementError,
    RouterError,
    StateError,
    WrongThreadError,
)

__all__ = [
    "AffinityConfig",
    "CandidateLoad",
    "CapacityError",
    "ClassConfig",
    "Cleared",
    "Decision",
    "Hold",
    "IndexCounters",
    "InvalidInputError",
    "Lease",
    "LocalScheduler",
    "Matches",
    "OfflineRouter",
    "Overrides",
    "Placed",
    "PlacementError",
    "PolicyConfig",
    "PotentialLoad",
    "RadixTree",
    "Removed",
    "Request",
    "RouterConfig",
    "RouterError",
    "Session",
    "SessionAffinity",
    "StateError",
    "Stored",
    "WorkerConfig",
    "WrongThreadError",
    "__revision__",
    "__version__",
    "affinity_key",
    "block_hashes",
    "sequence_hashes",
]
