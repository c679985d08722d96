//! KV-cache-aware request routing under an explicit clock.
