//! What calls give back.

use pyo3::prelude::*;

macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, eq, module = "kv_router")]
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name { $($(#[$about])* pub(crate) $field: $kind),* }

        #[pymethods]
        impl $name {
            fn __repr__(&self) -> String {
                let fields = [$(format!("{}={}", stringify!($field), self.$field.show())),*];
                format!("{}({})", stringify!($name), fields.join(", "))
            }
        }
    };
}

/// Text of a value as Python writes it.
trait Show {
    fn show(&self) -> String;
}

macro_rules! show {
    ($($kind:ty: |$value:ident| $text:expr),* $(,)?) => {
        $(impl Show for $kind {
            fn show(&self) -> String {
                let $value = self;
                $text
            }
        })*
    };
}

show! {
    u32: |value| value.to_string(),
    u64: |value| value.to_string(),
    f64: |value| format!("{value:?}"),
    bool: |value| (if *value { "True" } else { "False" }).to_owned(),
    Option<Decision>: |value| value.as_ref().map_or_else(|| "None".to_owned(), Decision::__repr__),
    Vec<Decision>: |value| {
        let items: Vec<_> = value.iter().map(Decision::__repr__).collect();
        format!("[{}]", items.join(", "))
    },
}

record! {
    /// A placement.
    Decision {
        /// The placed request.
        request_id: u64,
        /// Number of the booking: a later one of the same request has another.
        attempt: u64,
        /// The worker.
        worker_id: u32,
        /// The data-parallel rank.
        dp_rank: u32,
        /// Clock at the placement, ms.
        at_ms: f64,
        /// Consecutive prefix blocks that the candidate held.
        overlap_blocks: u32,
        /// The longest prefix that any candidate held, blocks.
        best_available_overlap_blocks: u32,
        /// Prompt tokens that need no prefill there.
        cached_tokens: u32,
        /// Prompt length in blocks, rounded up.
        isl_blocks: u32,
        /// Whether the request waited.
        queued: bool,
        /// Whether a session binding chose the candidate.
        binding_reused: bool,
    }
}

record! {
    /// What `place` led to.
    Placed {
        /// The placement; None: the request waits.
        decision: Option<Decision>,
        /// Other requests that the call let go, in order.
        released: Vec<Decision>,
    }
}

record! {
    /// Load of a candidate.
    CandidateLoad {
        /// The worker.
        worker_id: u32,
        /// The data-parallel rank.
        dp_rank: u32,
        /// Requests placed there that did not end.
        active_requests: u32,
        /// Active blocks: shared prompt blocks once, decayed ones by weight, rounded.
        active_blocks: u64,
        /// Prompt tokens still to prefill.
        active_prefill_tokens: u64,
        /// Whether it takes new requests.
        takes_requests: bool,
    }
}

record! {
    /// Load of a candidate with one more request.
    PotentialLoad {
        /// The worker.
        worker_id: u32,
        /// The data-parallel rank.
        dp_rank: u32,
        /// Consecutive prefix blocks that the candidate holds.
        overlap_blocks: u32,
        /// Active blocks with the request.
        potential_blocks: u64,
        /// Prompt tokens to prefill with the request.
        potential_prefill_tokens: u64,
    }
}

record! {
    /// What events did.
    IndexCounters {
        /// Stored.
        stored: u64,
        /// Stored though held already (harmless).
        duplicate_stored: u64,
        /// Removed.
        removed: u64,
        /// Removed though not held (harmless).
        unknown_removed: u64,
    }
}

impl From<kv_router::Decision> for Decision {
    fn from(from: kv_router::Decision) -> Self {
        Self {
            request_id: from.request_id,
            attempt: from.attempt,
            worker_id: from.candidate.worker_id,
            dp_rank: from.candidate.dp_rank,
            at_ms: from.at_ms,
            overlap_blocks: from.overlap_blocks,
            best_available_overlap_blocks: from.best_available_overlap_blocks,
            cached_tokens: from.cached_tokens,
            isl_blocks: from.isl_blocks,
            queued: from.queued,
            binding_reused: from.binding_reused,
        }
    }
}

impl From<kv_router::Placed> for Placed {
    fn from(from: kv_router::Placed) -> Self {
        Self {
            decision: from.decision.map(Into::into),
            released: decisions(from.released),
        }
    }
}

impl From<kv_router::CandidateLoad> for CandidateLoad {
    fn from(from: kv_router::CandidateLoad) -> Self {
        Self {
            worker_id: from.candidate.worker_id,
            dp_rank: from.candidate.dp_rank,
            active_requests: from.active_requests,
            active_blocks: from.active_blocks,
            active_prefill_tokens: from.active_prefill_tokens,
            takes_requests: from.takes_requests,
        }
    }
}

impl From<kv_router::PotentialLoad> for PotentialLoad {
    fn from(from: kv_router::PotentialLoad) -> Self {
        Self {
            worker_id: from.candidate.worker_id,
            dp_rank: from.candidate.dp_rank,
            overlap_blocks: from.overlap_blocks,
            potential_blocks: from.potential_blocks,
            potential_prefill_tokens: from.potential_prefill_tokens,
        }
    }
}

impl From<kv_router::IndexCounters> for IndexCounters {
    fn from(from: kv_router::IndexCounters) -> Self {
        let kv_router::IndexCounters {
            stored,
            duplicate_stored,
            removed,
            unknown_removed,
        } = from;
        Self {
            stored,
            duplicate_stored,
            removed,
            unknown_removed,
        }
    }
}

pub(crate) fn decisions(from: Vec<kv_router::Decision>) -> Vec<Decision> {
    from.into_iter().map(Into::into).collect()
}
