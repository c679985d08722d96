"""The built images."""
