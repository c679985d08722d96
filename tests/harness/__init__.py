"""Tests of scripts/harness."""
