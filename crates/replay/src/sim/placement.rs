//! Which worker gets a request.

/// A placement policy and its state.
#[derive(Debug)]
pub(super) enum Placement {
    /// Workers in turn.
    RoundRobin {
        /// The worker that is next.
        next: u32,
        /// Number of workers.
        workers: u32,
    },
}

impl Placement {
    pub(super) fn place(&mut self) -> u32 {
        match self {
            Self::RoundRobin { next, workers } => {
                let worker = *next;
                *next = (worker + 1) % *workers;
                worker
            }
        }
    }
}
