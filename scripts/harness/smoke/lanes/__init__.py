"""The places where the cases run: a host environment, an image."""
