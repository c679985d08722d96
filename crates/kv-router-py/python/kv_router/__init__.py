"""KV-cache-aware request routing under an explicit clock."""

from kv_router._core import __revision__, __version__

__all__ = ["__revision__", "__version__"]
