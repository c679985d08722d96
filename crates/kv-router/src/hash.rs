//! Block hashes and chained sequence hashes.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Seed of every block and sequence hash.
pub const HASH_SEED: u64 = 1337;

/// Hash of each complete block of `block_size` tokens; a trailing partial block has none.
///
/// xxh3-64 with seed 1337 over the tokens as little-endian u32. `salt` (the adapter name) keeps
/// the blocks of different adapters apart: its length (u32, little endian) and its bytes follow
/// the tokens of every block.
///
/// # Panics
/// When `block_size` is 0.
pub fn block_hashes(tokens: &[u32], block_size: usize, salt: Option<&str>) -> Vec<u64> {
    assert!(block_size > 0, "block_size is at least 1");
    hash_each(tokens.chunks_exact(block_size), block_size, salt)
}

/// Hash of each block as Eagle engines name it: over the block and the one token behind it, so
/// over windows of `block_size` + 1 tokens, `block_size` apart. A block whose window is not
/// complete has no hash. For the rest as [`block_hashes`].
///
/// # Panics
/// When `block_size` is 0.
pub fn eagle_block_hashes(tokens: &[u32], block_size: usize, salt: Option<&str>) -> Vec<u64> {
    assert!(block_size > 0, "block_size is at least 1");
    let width = block_size.saturating_add(1);
    hash_each(tokens.windows(width).step_by(block_size), width, salt)
}

/// Hashes of token windows that are all `width` long.
fn hash_each<'a>(
    windows: impl Iterator<Item = &'a [u32]>,
    width: usize,
    salt: Option<&str>,
) -> Vec<u64> {
    let mut bytes = vec![0u8; width * 4];
    if let Some(salt) = salt {
        bytes.extend_from_slice(&(salt.len() as u32).to_le_bytes());
        bytes.extend_from_slice(salt.as_bytes());
    }
    windows
        .map(|window| {
            for (slot, token) in bytes.chunks_exact_mut(4).zip(window) {
                slot.copy_from_slice(&token.to_le_bytes());
            }
            xxh3_64_with_seed(&bytes, HASH_SEED)
        })
        .collect()
}

/// Chained hashes: the first is the first block hash itself, each further one is the xxh3-64
/// (seed 1337) of its predecessor and its own block hash, both little endian.
///
/// Equal sequence hashes therefore mean equal prefixes, not only equal blocks.
pub fn sequence_hashes(local: &[u64]) -> Vec<u64> {
    let mut previous = None;
    local
        .iter()
        .map(|&block| {
            let hash = chain(previous, block);
            previous = Some(hash);
            hash
        })
        .collect()
}

/// Sequence hash of the block `local` behind the block with sequence hash `parent`.
#[inline]
pub(crate) fn chain(parent: Option<u64>, local: u64) -> u64 {
    let Some(parent) = parent else { return local };
    let mut bytes = [0u8; 16];
    bytes[..8].copy_from_slice(&parent.to_le_bytes());
    bytes[8..].copy_from_slice(&local.to_le_bytes());
    xxh3_64_with_seed(&bytes, HASH_SEED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_block_has_no_hash() {
        let tokens: Vec<u32> = (0..35).collect();
        let hashes = block_hashes(&tokens, 16, None);
        assert_eq!(hashes.len(), 2);
        assert_eq!(hashes, block_hashes(&tokens[..32], 16, None));
        assert!(block_hashes(&tokens[..15], 16, None).is_empty());
    }

    #[test]
    fn eagle_windows_hold_the_token_behind_the_block() {
        let tokens: Vec<u32> = (0..9).collect();
        let hashes = eagle_block_hashes(&tokens, 4, Some("a"));
        let windows = [&tokens[0..5], &tokens[4..9]];
        assert_eq!(hashes, windows.map(|w| block_hashes(w, 5, Some("a"))[0]));
        assert_eq!(eagle_block_hashes(&tokens[..8], 4, Some("a")), hashes[..1]);
        assert!(eagle_block_hashes(&tokens[..4], 4, None).is_empty());
        assert!(eagle_block_hashes(&[], 1, None).is_empty());
    }

    #[test]
    fn salt_separates_adapters_and_block_size_one_works() {
        let tokens = [1, 2, 3];
        let plain = block_hashes(&tokens, 1, None);
        assert_eq!(plain.len(), 3);
        assert_ne!(plain, block_hashes(&tokens, 1, Some("adapter")));
        assert_ne!(
            block_hashes(&tokens, 1, Some("a")),
            block_hashes(&tokens, 1, Some("b"))
        );
        assert_ne!(plain, block_hashes(&tokens, 1, Some("")));
    }

    #[test]
    fn chain_starts_with_the_block_and_binds_the_prefix() {
        let chain = sequence_hashes(&[7, 8, 9]);
        assert_eq!(chain[0], 7);
        let mut bytes = 7u64.to_le_bytes().to_vec();
        bytes.extend(8u64.to_le_bytes());
        assert_eq!(chain[1], xxh3_64_with_seed(&bytes, HASH_SEED));
        assert_ne!(sequence_hashes(&[6, 8, 9])[2], chain[2]);
        assert_eq!(sequence_hashes(&[7, 8, 9, 10])[..3], chain[..]);
    }
}
