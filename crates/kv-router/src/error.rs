//! The one error type: what was refused, which value, what would have been right.

use std::fmt;

/// Why a call was refused. The text form ([`ErrorKind::as_str`]) is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A field has a value outside its range or type.
    InvalidValue,
    /// A known option that this router does not offer.
    Unsupported,
    /// The clock is NaN, infinite, negative or beyond its range.
    ClockInvalid,
    /// The clock would go back.
    ClockBackwards,
    /// The request id is live already.
    DuplicateRequest,
    /// No live request has this id.
    UnknownRequest,
    /// The request is not in the state that the call needs.
    WrongState,
    /// The attempt is not the live one.
    StaleAttempt,
    /// The worker id is present already.
    DuplicateWorker,
    /// No worker has this id, or the rank is outside the worker.
    UnknownWorker,
    /// No worker passes the request's constraints.
    NoEndpoints,
    /// Workers would do, but all of them are overloaded.
    AllOverloaded,
    /// The pinned worker is overloaded.
    PinnedOverloaded,
    /// The pinned worker is outside the request's allowed set.
    PinnedNotAllowed,
    /// A queue limit of the request's class is reached.
    QueueLimit,
    /// A stored event names a parent block that its source does not hold.
    ParentNotFound,
    /// A stored event makes a block its own parent.
    SelfParent,
    /// The affinity table is full.
    AffinityFull,
    /// The affinity key is unknown, or its entry moved on since the hold or lease was given out.
    StaleAffinity,
    /// A request was dispatched elsewhere than its hard binding says.
    BindingViolated,
    /// A request was dispatched elsewhere than decided.
    DispatchMismatch,
    /// A JSON command could not be read.
    InvalidCommand,
}

impl ErrorKind {
    /// The stable text form, in snake case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidValue => "invalid_value",
            Self::Unsupported => "unsupported",
            Self::ClockInvalid => "clock_invalid",
            Self::ClockBackwards => "clock_backwards",
            Self::DuplicateRequest => "duplicate_request",
            Self::UnknownRequest => "unknown_request",
            Self::WrongState => "wrong_state",
            Self::StaleAttempt => "stale_attempt",
            Self::DuplicateWorker => "duplicate_worker",
            Self::UnknownWorker => "unknown_worker",
            Self::NoEndpoints => "no_endpoints",
            Self::AllOverloaded => "all_overloaded",
            Self::PinnedOverloaded => "pinned_overloaded",
            Self::PinnedNotAllowed => "pinned_not_allowed",
            Self::QueueLimit => "queue_limit",
            Self::ParentNotFound => "parent_not_found",
            Self::SelfParent => "self_parent",
            Self::AffinityFull => "affinity_full",
            Self::StaleAffinity => "stale_affinity",
            Self::BindingViolated => "binding_violated",
            Self::DispatchMismatch => "dispatch_mismatch",
            Self::InvalidCommand => "invalid_command",
        }
    }
}

/// A refused call. The state is as it was before the call, except where the call says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterError(Box<Refusal>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    kind: ErrorKind,
    field: String,
    value: String,
    expected: String,
}

impl RouterError {
    /// A refusal of `value` in `field`, with what would be right.
    pub fn new(
        kind: ErrorKind,
        field: impl Into<String>,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self(Box::new(Refusal {
            kind,
            field: field.into(),
            value: value.to_string(),
            expected: expected.into(),
        }))
    }

    /// Why the call was refused.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The field at fault.
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// The value it had.
    pub fn value(&self) -> &str {
        &self.0.value
    }

    /// What would have been right.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }
}

impl fmt::Display for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal {
            kind,
            field,
            value,
            expected,
        } = &*self.0;
        write!(
            f,
            "{}: {field} = {value}: expected {expected}",
            kind.as_str()
        )
    }
}

impl std::error::Error for RouterError {}
