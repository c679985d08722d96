"""Engine handling."""
