"""Tests of the wheel audit and the manifest."""
