"""Tests of `harness pins`."""
