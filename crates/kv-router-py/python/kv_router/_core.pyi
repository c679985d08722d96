"""The compiled half of the package.

Times are milliseconds on the host's clock; every method with ``now_ms`` refuses a time before
that of an earlier call (``clock_backwards``) and NaN, infinite or negative ones
(``clock_invalid``). ``hashes`` are one-dimensional: a sequence of ints, or any buffer of integers
(NumPy, ``array``, ``memoryview``), which is read in one copy. Refused calls raise
:class:`kv_router.RouterError`; the kinds are given by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, final

from typing_extensions import Buffer

from kv_router.config import AffinityConfig, Overrides, RouterConfig, Session, WorkerConfig

__all__ = [
    "CandidateLoad",
    "Cleared",
    "Decision",
    "Hold",
    "IndexCounters",
    "Lease",
    "LocalScheduler",
    "Matches",
    "OfflineRouter",
    "Placed",
    "PotentialLoad",
    "RadixTree",
    "Removed",
    "Request",
    "SessionAffinity",
    "Stored",
    "__revision__",
    "__version__",
    "affinity_key",
    "block_hashes",
    "sequence_hashes",
]

class _NumPyArray(Protocol):
    """NumPy declares its arrays as buffers from Python 3.12 on only."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Integers: TypeAlias = Sequence[int] | Buffer | _NumPyArray
_Event: TypeAlias = Stored | Removed | Cleared
_Row: TypeAlias = tuple[int, int, int, int]

__version__: str
__revision__: str

def block_hashes(
    tokens: _Integers, block_size: int, salt: str | None = None, *, eagle: bool = False
) -> list[int]:
    """Hash of each complete block of ``block_size`` tokens; a partial block has none.

    xxh3-64 with seed 1337 over the tokens (u32, little endian) and, with a ``salt`` (the adapter
    name), its length (u32, little endian) and UTF-8 bytes. Runs without the GIL.

    Args:
        tokens: Shape (n,): token ids from 0 to 2^32 - 1.
        block_size: Tokens a block; >= 1.
        salt: Keeps the blocks of different adapters apart.
        eagle: Hash windows of block_size + 1 tokens, block_size apart, as Eagle engines do.

    Returns:
        n // block_size hashes (with ``eagle`` (n - 1) // block_size) from 0 to 2^64 - 1.

    Raises:
        InvalidInputError: ``invalid_value``.
    """

def sequence_hashes(block_hashes: _Integers) -> list[int]:
    """Chained hash of each block and everything before it. Runs without the GIL.

    The first is the first block hash; each further one is the xxh3-64 (seed 1337) of its
    predecessor and its own block hash, both little endian. Shape (n,) to n hashes.

    Raises:
        InvalidInputError: ``invalid_value``.
    """

def affinity_key(mode: Literal["session", "sibling_group"], session: Session) -> str:
    """The affinity key under which a router with this mode keeps the session: 32 hex digits.

    Raises:
        InvalidInputError: ``invalid_value``: no session id, or no root in sibling group mode.
    """

@final
class Stored:
    """A chain of blocks was stored behind ``parent_hash`` (None: at the start of a prompt).

    ``block_hashes`` are the engine's names of the blocks, fastest when they are the sequence
    hashes; ``tokens_hashes`` their block hashes. Both have shape (n,).
    """

    def __new__(
        cls,
        block_hashes: _Integers,
        tokens_hashes: _Integers,
        parent_hash: int | None = None,
    ) -> Stored: ...

@final
class Removed:
    """Blocks were evicted: their engine hashes, shape (n,)."""

    def __new__(cls, block_hashes: _Integers) -> Removed: ...

@final
class Cleared:
    """The candidate's cache was emptied."""

    def __new__(cls) -> Cleared: ...

@final
class Request:
    """What a request wants.

    Args:
        request_id: The host's number, unique among live requests; 0 to 2^64 - 1.
        isl_tokens: Prompt length, tokens; >= 1.
        sequence_hashes: Chained hashes of the complete prompt blocks, at most
            ``isl_tokens // block_size``.
        block_hashes: Block hashes in place of ``sequence_hashes``, which are then computed.
        expected_output_tokens: Expected output, tokens; nothing depends on it today.
        priority_jump: Seconds (FCFS, LCFS) or weight (WSPT) by which it jumps ahead.
        strict_priority: Higher goes first, whatever the queue policy says.
        due_ms: The earliest goes first among equal strict priorities, ms.
        policy_class: Policy family, one of the configured ones.
        session: Who asks; needed by a router with affinity.
        authored_request_id: The host's own name, for the evidence.
        pinned: The only worker, or (worker, rank), it may run on.
        preferred: (worker, rank), taken when eligible.
        allowed_workers: The workers it may run on; None: all.
        required_taints: Taints that a worker must carry.
        preferred_taints: Taint to weight: > 0 makes a worker cheaper, < 0 dearer.
        lower_tiers: (worker, rank) to (host blocks, disk blocks) of the prompt prefix.
        shared_cache_blocks: Blocks of the prompt prefix in the shared cache.
        expected_prefill_ms: Modelled prefill time on an idle worker, ms.
        overrides: Parameters of the router replaced for this request.

    Raises:
        InvalidInputError: ``invalid_value``. Ranges are checked when the request is placed.
    """

    def __new__(
        cls,
        request_id: int,
        isl_tokens: int,
        sequence_hashes: _Integers | None = None,
        *,
        block_hashes: _Integers | None = None,
        expected_output_tokens: int | None = None,
        priority_jump: float = 0.0,
        strict_priority: int = 0,
        due_ms: float | None = None,
        policy_class: str | None = None,
        session: Session | None = None,
        authored_request_id: str | None = None,
        pinned: int | tuple[int, int] | None = None,
        preferred: tuple[int, int] | None = None,
        allowed_workers: Sequence[int] | None = None,
        required_taints: Sequence[str] | None = None,
        preferred_taints: Mapping[str, float] | None = None,
        lower_tiers: Mapping[tuple[int, int], tuple[int, int]] | None = None,
        shared_cache_blocks: int = 0,
        expected_prefill_ms: float | None = None,
        overrides: Overrides | None = None,
    ) -> Request: ...
    @property
    def request_id(self) -> int:
        """The request's number."""
    @property
    def isl_tokens(self) -> int:
        """Prompt length, tokens."""

@final
class Decision:
    """A placement: the request is booked on (``worker_id``, ``dp_rank``) from ``at_ms`` on."""

    @property
    def request_id(self) -> int:
        """The placed request."""
    @property
    def attempt(self) -> int:
        """Number of the booking: a later one of the same request has another."""
    @property
    def worker_id(self) -> int:
        """The worker."""
    @property
    def dp_rank(self) -> int:
        """The data-parallel rank."""
    @property
    def at_ms(self) -> float:
        """Clock at the placement, ms."""
    @property
    def overlap_blocks(self) -> int:
        """Consecutive prefix blocks that the candidate held."""
    @property
    def best_available_overlap_blocks(self) -> int:
        """The longest prefix that any candidate held, blocks."""
    @property
    def cached_tokens(self) -> int:
        """Prompt tokens that need no prefill there."""
    @property
    def isl_blocks(self) -> int:
        """Prompt length in blocks, rounded up."""
    @property
    def queued(self) -> bool:
        """Whether the request waited."""
    @property
    def binding_reused(self) -> bool:
        """Whether a session binding chose the candidate."""

@final
class Placed:
    """What placing a request led to."""

    @property
    def decision(self) -> Decision | None:
        """The placement; None: the request waits."""
    @property
    def released(self) -> list[Decision]:
        """Other requests that the call let go, in order."""

@final
class CandidateLoad:
    """Load of a candidate."""

    @property
    def worker_id(self) -> int:
        """The worker."""
    @property
    def dp_rank(self) -> int:
        """The data-parallel rank."""
    @property
    def active_requests(self) -> int:
        """Requests placed there that did not end."""
    @property
    def active_blocks(self) -> int:
        """Active blocks: shared prompt blocks once, decayed ones by weight, rounded."""
    @property
    def active_prefill_tokens(self) -> int:
        """Prompt tokens still to prefill."""
    @property
    def takes_requests(self) -> bool:
        """Whether it takes new requests."""

@final
class PotentialLoad:
    """Load of a candidate as it would be with one more request."""

    @property
    def worker_id(self) -> int:
        """The worker."""
    @property
    def dp_rank(self) -> int:
        """The data-parallel rank."""
    @property
    def overlap_blocks(self) -> int:
        """Consecutive prefix blocks that the candidate holds."""
    @property
    def potential_blocks(self) -> int:
        """Active blocks with the request."""
    @property
    def potential_prefill_tokens(self) -> int:
        """Prompt tokens to prefill with the request."""

@final
class IndexCounters:
    """What cache events did, in blocks."""

    @property
    def stored(self) -> int:
        """Stored."""
    @property
    def duplicate_stored(self) -> int:
        """Stored though held already (harmless)."""
    @property
    def removed(self) -> int:
        """Removed."""
    @property
    def unknown_removed(self) -> int:
        """Removed though not held (harmless)."""

@final
class Matches:
    """What :meth:`RadixTree.find_matches` found; its length is the number of candidates."""

    @property
    def scores(self) -> dict[tuple[int, int], int]:
        """Consecutive blocks by (worker id, dp rank), sorted; zeros left out."""
    @property
    def best(self) -> int:
        """The most blocks that any candidate holds."""
    def of(self, worker_id: int, dp_rank: int) -> int:
        """Blocks that one candidate holds."""
    def __len__(self) -> int:
        """Candidates that hold the first block."""

@final
class RadixTree:
    """The prefix index: which (worker, dp rank) holds which block."""

    def __new__(cls) -> RadixTree: ...
    @staticmethod
    def restore(rows: Iterable[_Row]) -> RadixTree:
        """The index that :meth:`dump` gave these rows of, holes included."""
    def apply(self, worker_id: int, dp_rank: int, event: _Event) -> None:
        """Applies one event.

        Raises:
            InvalidInputError: ``parent_not_found``, ``self_parent``, ``invalid_value``.
        """
    def find_matches(self, sequence_hashes: _Integers, early_exit: bool = False) -> Matches:
        """Finds how many consecutive blocks from the start each candidate holds.

        With ``early_exit`` the walk ends once one candidate is left, whose count is then a lower
        bound.

        Raises:
            InvalidInputError: ``invalid_value``.
        """
    def remove_worker(self, worker_id: int) -> None:
        """Forgets all ranks of a worker."""
    def dump(self) -> list[_Row]:
        """Every held block, sorted: (worker, rank, block hash, sequence hash)."""
    def blocks_of(self, worker_id: int, dp_rank: int) -> int:
        """Distinct blocks of one candidate."""
    def sources(self) -> list[tuple[int, int]]:
        """Every (worker, rank) that sent an event and was not removed, sorted."""
    def counters(self) -> IndexCounters:
        """What events did so far."""
    def __len__(self) -> int:
        """Distinct blocks; 0 when everything stored was removed."""

@final
class LocalScheduler:
    """Selection, admission, booking and queueing over one fleet and one prefix index.

    Methods that can let waiting requests go return their placements, in order.
    """

    def __new__(
        cls, config: RouterConfig, workers: Iterable[WorkerConfig] | None = None
    ) -> LocalScheduler: ...
    def schedule(self, now_ms: float, request: Request) -> Placed:
        """Places a request, or keeps it waiting.

        Raises:
            InvalidInputError: ``invalid_value``.
            StateError: ``duplicate_request``.
            PlacementError: ``no_endpoints``, ``all_overloaded``, ``pinned_overloaded``,
                ``pinned_not_allowed``.
            CapacityError: ``queue_limit``.
        """
    def observe(self, now_ms: float, worker_id: int, dp_rank: int, event: _Event) -> None:
        """Applies a cache event.

        Raises:
            StateError: ``unknown_worker``.
            InvalidInputError: ``parent_not_found``, ``self_parent``.
        """
    def deliver(self, now_ms: float, request_id: int, attempt: int | None = None) -> None:
        """The worker took the request: from now on only :meth:`free` ends it.

        Raises:
            StateError: ``unknown_request``, ``stale_attempt``, ``wrong_state``.
        """
    def rollback(
        self, now_ms: float, request_id: int, attempt: int | None = None
    ) -> list[Decision]:
        """The delivery failed: the booking is gone.

        Raises:
            StateError: ``unknown_request``, ``stale_attempt``, ``wrong_state``.
        """
    def prefill_complete(
        self, now_ms: float, request_id: int, attempt: int | None = None
    ) -> list[Decision]:
        """The prompt is computed. Idempotent; an unknown id is harmless.

        Raises:
            StateError: ``stale_attempt``.
        """
    def free(self, now_ms: float, request_id: int, attempt: int | None = None) -> list[Decision]:
        """The request ended. Idempotent; an unknown id is harmless.

        Raises:
            StateError: ``stale_attempt``: the late end of an earlier attempt.
        """
    def add_output_block(
        self, now_ms: float, request_id: int, decay_fraction: float | None = None
    ) -> None:
        """The request produced a block of output.

        ``decay_fraction`` in 0..1 is from now on the weight of its output blocks and of the prompt
        blocks that only it holds.

        Raises:
            InvalidInputError: ``unsupported`` unless output blocks are tracked, ``invalid_value``.
            StateError: ``unknown_request``.
        """
    def cancel(self, now_ms: float, request_id: int) -> list[Decision]:
        """Withdraws a request that waits, or is placed and not yet delivered.

        Raises:
            StateError: ``unknown_request``, ``wrong_state``.
        """
    def add_worker(self, now_ms: float, worker: WorkerConfig) -> list[Decision]:
        """Adds a worker.

        Raises:
            StateError: ``duplicate_worker``.
            InvalidInputError: ``invalid_value``.
        """
    def drain_worker(self, now_ms: float, worker_id: int) -> list[Decision]:
        """The worker takes no new requests and finishes the ones it has (``unknown_worker``)."""
    def fence_worker(self, now_ms: float, worker_id: int) -> list[Decision]:
        """The worker is dead but not yet removed: never chosen (``unknown_worker``)."""
    def set_overloaded(self, now_ms: float, worker_id: int, overloaded: bool) -> list[Decision]:
        """Sets or ends the overload of a worker (``unknown_worker``)."""
    def remove_worker(self, now_ms: float, worker_id: int) -> list[Decision]:
        """The worker is gone with its bookings and cache; its id can come back."""
    def advance_clock(self, now_ms: float) -> list[Decision]:
        """Time passed: lets go what time alone frees."""
    def settle(self, now_ms: float) -> list[Decision]:
        """Lets everything go that can."""
    def next_wakeup_ms(self) -> float | None:
        """The earliest time at which :meth:`advance_clock` can let a waiter go, ms."""
    def pending_count(self) -> int:
        """Requests that wait."""
    def active_count(self) -> int:
        """Requests that are placed and did not end."""
    def drain_touches(self) -> int:
        """Waiters that drains looked at so far: a measure of their work."""
    def loads(self) -> list[CandidateLoad]:
        """Load of every candidate, by (worker, rank)."""
    def potential_loads(self, request: Request) -> list[PotentialLoad]:
        """Load of every candidate with this request on it, without booking."""
    def index_counters(self) -> IndexCounters:
        """What cache events did so far."""
    def index_blocks(self) -> int:
        """Distinct blocks in the prefix index."""

@final
class Hold:
    """The right and duty to initialize a key: ends with ``commit`` or ``abandon``."""

    @property
    def key(self) -> str:
        """The key."""

@final
class Lease:
    """A share in a bound key: ends with ``release``."""

    @property
    def key(self) -> str:
        """The key."""
    @property
    def target(self) -> tuple[int, int]:
        """The bound (worker, rank) when the lease was given out."""

@final
class SessionAffinity:
    """Keys, their bindings and leases. Nothing expires by itself: the clock is an argument.

    A key is initialized by the first request that acquires it, others wait; ``commit`` binds it.
    The time to live counts from the release of the last lease; at the deadline it is over.
    """

    def __new__(cls, config: AffinityConfig) -> SessionAffinity: ...
    def acquire(self, now_ms: float, key: str, request_id: int) -> Hold | Lease | None:
        """A Hold to initialize the key, a Lease of its binding, or None: the request waits.

        Raises:
            InvalidInputError: ``invalid_value``: a key of 1 to 256 bytes is needed.
            CapacityError: ``affinity_full``.
        """
    def join(self, hold: Hold) -> Hold:
        """Joins an initialization, which then lasts until every holder ended it.

        Raises:
            StateError: ``stale_affinity``.
        """
    def commit(
        self, now_ms: float, hold: Hold, worker_id: int, dp_rank: int
    ) -> tuple[Lease, list[int]]:
        """The worker took the request: binds the key. Gives the lease, and the waiters.

        Raises:
            StateError: ``stale_affinity``.
        """
    def abandon(self, now_ms: float, hold: Hold) -> tuple[int, Hold] | None:
        """Gives up an initialization: (next waiter, its hold), or None.

        Raises:
            StateError: ``stale_affinity``.
        """
    def withdraw(self, key: str, request_id: int) -> bool:
        """The request does not wait for the key any more; whether it did."""
    def dispatched(self, now_ms: float, lease: Lease, worker_id: int, dp_rank: int) -> None:
        """A request was dispatched; elsewhere than bound, that moves a soft binding.

        Raises:
            StateError: ``binding_violated`` in hard mode, which ends the binding;
                ``stale_affinity``.
        """
    def release(self, now_ms: float, lease: Lease) -> None:
        """Ends a lease; of a binding that is gone, silently."""
    def query(self, now_ms: float, key: str) -> tuple[int, int] | None:
        """Where the key is bound, without extending anything."""
    def is_initializing(self, key: str) -> bool:
        """Whether a request initializes the key."""
    def invalidate(self, key: str) -> bool:
        """Ends the binding of a key; whether there was one."""
    def invalidate_worker(self, worker_id: int) -> int:
        """Ends every binding to a worker; the number."""
    def advance(self, now_ms: float) -> int:
        """Moves the clock; the number of bindings whose time was up."""
    def next_expiry_ms(self) -> float | None:
        """When the next idle binding is forgotten, ms."""
    def leases(self, key: str) -> int:
        """Leases of a key that are not released."""
    def __len__(self) -> int:
        """Keys, initializing ones too."""

@final
class OfflineRouter:
    """The routing policy under the host's clock.

    Methods that can let waiting requests go return their placements, in order. The host
    dispatches each at once and reports ``dispatch_committed`` or ``dispatch_aborted`` for it.
    """

    def __new__(
        cls, config: RouterConfig, workers: Iterable[WorkerConfig] | None = None
    ) -> OfflineRouter: ...
    @staticmethod
    def from_json(text: str) -> OfflineRouter:
        """A router from ``{"config": {...}, "workers": [...]}``; both may be left out.

        Raises:
            InvalidInputError: ``invalid_command``, ``invalid_value``, ``unsupported``.
        """
    def command(self, text: str) -> str:
        """Carries out one JSON command and gives its JSON answer; never raises a refusal.

        A command is an object with ``command``, the name of a method, and its arguments.
        """
    def bypasses_prefill_pool(self, isl_tokens: int, cached_tokens: int) -> bool:
        """Whether a request may bypass the prefill pool by the ``conditional_disagg_*`` parameters.

        Args:
            isl_tokens: Prompt length, tokens.
            cached_tokens: Those of them that its decode worker holds.

        Raises:
            InvalidInputError: ``invalid_value``.
        """
    def config_json(self) -> str:
        """The configuration as JSON."""
    def place(self, now_ms: float, request: Request) -> Placed:
        """Places a request, or keeps it waiting; all wait while no worker takes requests.

        Raises:
            InvalidInputError: ``invalid_value``.
            StateError: ``duplicate_request``.
            PlacementError: ``no_endpoints``, ``all_overloaded``, ``pinned_overloaded``,
                ``pinned_not_allowed``.
            CapacityError: ``queue_limit``, ``affinity_full``.
        """
    def observe(self, now_ms: float, worker_id: int, dp_rank: int, event: _Event) -> None:
        """Applies a cache event.

        Raises:
            StateError: ``unknown_worker``.
            InvalidInputError: ``parent_not_found``, ``self_parent``.
        """
    def prefill_completed(self, now_ms: float, request_id: int) -> list[Decision]:
        """The prompt is computed. Idempotent; an unknown id is harmless."""
    def add_output_block(
        self, now_ms: float, request_id: int, decay_fraction: float | None = None
    ) -> None:
        """The request produced a block of output; see :class:`LocalScheduler`."""
    def dispatch_committed(
        self, now_ms: float, request_id: int, worker_id: int, dp_rank: int
    ) -> list[Decision]:
        """The worker and rank took the request; its session is bound from now on.

        Raises:
            StateError: ``unknown_request``, ``wrong_state``, ``unknown_worker``,
                ``dispatch_mismatch``; ``binding_violated``, which ends the binding.
        """
    def dispatch_aborted(self, now_ms: float, request_id: int) -> list[Decision]:
        """The dispatch failed: booking and initialization are gone.

        Raises:
            StateError: ``unknown_request``, ``wrong_state``.
        """
    def request_terminal(self, now_ms: float, request_id: int) -> list[Decision]:
        """The request ended, however it ended. An unknown id is harmless."""
    def cancel(self, now_ms: float, request_id: int) -> list[Decision]:
        """Withdraws a request that waits, or is placed and not yet dispatched.

        Raises:
            StateError: ``unknown_request``, ``wrong_state``.
        """
    def worker_ready(self, now_ms: float, worker: WorkerConfig) -> list[Decision]:
        """Adds a worker.

        Raises:
            StateError: ``duplicate_worker``.
            InvalidInputError: ``invalid_value``.
        """
    def worker_draining(self, now_ms: float, worker_id: int) -> list[Decision]:
        """The worker takes no new requests; its sessions move on (``unknown_worker``)."""
    def worker_fenced(self, now_ms: float, worker_id: int) -> list[Decision]:
        """The worker is dead but not yet removed: never chosen (``unknown_worker``)."""
    def worker_overloaded(self, now_ms: float, worker_id: int, overloaded: bool) -> list[Decision]:
        """Sets or ends the overload of a worker (``unknown_worker``)."""
    def worker_removed(self, now_ms: float, worker_id: int) -> list[Decision]:
        """The worker is gone with its bookings, cache and sessions; its id can come back."""
    def topology_settled(self, now_ms: float) -> list[Decision]:
        """Topology changes are done: lets everything go that can."""
    def advance_clock(self, now_ms: float) -> list[Decision]:
        """Time passed: forgets idle sessions and lets go what time alone frees."""
    def next_wakeup_ms(self) -> float | None:
        """The earliest time at which :meth:`advance_clock` can let a waiter go, ms.

        None when only another event can: what an event frees is let go in the same call.
        """
    def pending_count(self) -> int:
        """Requests that wait."""
    def session_count(self) -> int:
        """Session keys in use."""
    def evidence(self) -> dict[str, Any]:
        """Counters since the start and the latest decisions, bounded by ``evidence_limit``."""
    def loads(self) -> list[CandidateLoad]:
        """Load of every candidate, by (worker, rank)."""
    def index_counters(self) -> IndexCounters:
        """What cache events did so far."""
    def index_blocks(self) -> int:
        """Distinct blocks in the prefix index."""
    def state_digest(self) -> int:
        """Digest of the whole state, for tests: equal states have equal digests."""
