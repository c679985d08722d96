"""What comes before a release."""
