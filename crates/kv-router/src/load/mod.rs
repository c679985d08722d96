//! What a candidate is working on: active blocks and active prefills.

mod prefill;
mod prompt;

pub(crate) use prefill::PrefillLoad;
pub(crate) use prompt::{PromptBlocks, Weight};
