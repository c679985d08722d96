"""Base images."""
