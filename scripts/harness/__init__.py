"""Builds, checks and smoke-tests the kv-router and replay-sim wheels and images."""
