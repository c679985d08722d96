"""Benchmarks: they print ratios and assert nothing."""
