"""Proofs that the pin check of this repository can fail."""
