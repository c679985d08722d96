"""Tests of the `replay-sim` wheel, as installed."""
