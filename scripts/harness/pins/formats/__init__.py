"""Output formats of the check: each turns a report into one string."""
