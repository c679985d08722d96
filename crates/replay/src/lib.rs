//! Replay of inference traces against simulated workers behind the KV router.
