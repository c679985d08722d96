//! What a candidate is working on: active blocks and active prefills.

mod prefill;
mod prompt;
mod routed;

pub(crate) use prefill::PrefillLoad;
pub(crate) use prompt::{PromptBlocks, Weight};
pub(crate) use routed::Routed;
