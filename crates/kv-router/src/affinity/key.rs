//! Affinity keys of sessions and sibling groups.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::config::AffinityMode;
use crate::error::{ErrorKind, RouterError};
use crate::types::SessionIdentity;

/// The key of a request: the digest of a small JSON array that names what shares it.
///
/// * session: `["session", play, session]`
/// * sibling group, a child: `["siblings", play, root, parent]`
/// * sibling group, the root itself: `["root", play, root, session]`
///
/// # Errors
/// `InvalidValue` without a session id, or without lineage in sibling group mode.
pub fn affinity_key(
    mode: AffinityMode,
    session: Option<&SessionIdentity<'_>>,
) -> Result<Arc<str>, RouterError> {
    let invalid = |field: &str, value: &str, expected: &str| {
        Err(RouterError::new(
            ErrorKind::InvalidValue,
            field,
            value,
            expected,
        ))
    };
    let Some(session) = session else {
        return invalid(
            "session",
            "none",
            "a session identity: the router has session affinity",
        );
    };
    if session.session_id.is_empty() {
        return invalid(
            "session.session_id",
            "\"\"",
            "a session id that is not empty",
        );
    }
    let parts = match (mode, session.root, session.parent) {
        (AffinityMode::Session, ..) => vec!["session", session.play, session.session_id],
        (AffinityMode::SiblingGroup, Some(root), Some(parent)) => {
            vec!["siblings", session.play, root, parent]
        }
        (AffinityMode::SiblingGroup, Some(root), None) => {
            vec!["root", session.play, root, session.session_id]
        }
        (AffinityMode::SiblingGroup, None, _) => {
            return invalid("session.root", "none", "the root of the conversation tree");
        }
    };
    let text = serde_json::to_string(&parts).expect("strings are JSON");
    Ok(format!("{:032x}", xxh3_128(text.as_bytes())).into())
}
