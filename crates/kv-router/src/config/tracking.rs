//! Under which hashes the blocks of active requests are tracked.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::RouterConfig;
use crate::error::{ErrorKind, RouterError};
use crate::hash::HASH_SEED;

/// How the load names the prompt blocks of active requests. Placement does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrackingHash {
    /// By the sequence hashes of the prompt.
    #[default]
    #[serde(rename = "public-xxh3-v1")]
    PublicXxh3V1,
    /// By the xxh3-64 (seed 1337) of the key and the sequence hash (little endian).
    #[serde(rename = "keyed-xxh3-v1")]
    KeyedXxh3V1,
}

/// The key of keyed tracking hashes: 32 bytes, in JSON as 64 hexadecimal digits. It is read, and
/// never written or shown.
#[derive(Clone, PartialEq, Eq)]
pub struct TrackingKey(pub [u8; 32]);

impl fmt::Debug for TrackingKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TrackingKey(..)")
    }
}

impl<'de> Deserialize<'de> for TrackingKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || de::Error::custom("expected 64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut key = [0; 32];
        for (byte, at) in key.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(key))
    }
}

impl RouterConfig {
    /// The names under which the blocks of a prompt are tracked while it is active.
    pub(crate) fn tracked(&self, chain: &Arc<[u64]>) -> Arc<[u64]> {
        let Some(TrackingKey(key)) = &self.router_tracking_key else {
            return Arc::clone(chain);
        };
        let mut bytes = [0; 40];
        bytes[..32].copy_from_slice(key);
        let mut keyed = |hash: &u64| {
            bytes[32..].copy_from_slice(&hash.to_le_bytes());
            xxh3_64_with_seed(&bytes, HASH_SEED)
        };
        chain.iter().map(&mut keyed).collect()
    }

    /// Refuses keyed hashes without a key and its id, and public ones with either.
    pub(super) fn check_tracking(&self) -> Result<(), RouterError> {
        let keyed = self.router_tracking_hash == TrackingHash::KeyedXxh3V1;
        let id = self.router_tracking_key_id.as_deref();
        for (field, given) in [
            ("router_tracking_key", self.router_tracking_key.is_some()),
            (
                "router_tracking_key_id",
                id.is_some_and(|id| !id.is_empty()),
            ),
        ] {
            if given != keyed {
                let (value, expected) = match keyed {
                    true => ("none", "one: router_tracking_hash is keyed-xxh3-v1"),
                    false => ("given", "none, or router_tracking_hash = keyed-xxh3-v1"),
                };
                return Err(RouterError::new(
                    ErrorKind::InvalidValue,
                    field,
                    value,
                    expected,
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(key: [u8; 32]) -> RouterConfig {
        RouterConfig {
            router_tracking_hash: TrackingHash::KeyedXxh3V1,
            router_tracking_key: Some(TrackingKey(key)),
            router_tracking_key_id: Some("2026".into()),
            ..RouterConfig::default()
        }
    }

    #[test]
    fn each_key_gives_names_of_its_own() {
        let chain: Arc<[u64]> = [1, 2].into();
        assert_eq!(RouterConfig::default().tracked(&chain), chain);
        let (one, two) = (
            keyed([1; 32]).tracked(&chain),
            keyed([2; 32]).tracked(&chain),
        );
        assert_eq!(one, keyed([1; 32]).tracked(&chain));
        let names: std::collections::HashSet<_> =
            chain.iter().chain(one.iter()).chain(two.iter()).collect();
        assert_eq!(names.len(), 6);
    }

    #[test]
    fn a_key_is_read_from_hexadecimal_and_never_shown() {
        let key: TrackingKey =
            serde_json::from_str(&format!("\"{}\"", "aF".repeat(32))).expect("64 digits");
        assert_eq!(key, TrackingKey([0xaf; 32]));
        for bad in ["ab".repeat(31), "zz".repeat(32), "é".repeat(32)] {
            assert!(serde_json::from_str::<TrackingKey>(&format!("\"{bad}\"")).is_err());
        }
        let config = keyed([0xaf; 32]);
        let json = serde_json::to_string(&config).expect("it is JSON");
        assert!(json.contains("2026") && !json.contains("afaf") && !json.contains("175"));
        assert!(!format!("{config:?}").contains("175"));
    }
}
