"""Tests of the smoke run."""
