"""The tests. Mirrors the tree; what several tests share is imported as `tests.…`."""
