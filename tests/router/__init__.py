"""Tests of the `kv-router` wheel, as installed."""
