"""Finding, starting and calling the container engine."""

from harness.engine.client import Engine, connect, find
from harness.engine.start import ensure

__all__ = ["Engine", "connect", "ensure", "find"]
