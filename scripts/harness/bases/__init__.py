"""Base images: from Debian packages, or from a registry by digest."""
