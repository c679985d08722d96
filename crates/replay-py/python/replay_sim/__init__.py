"""Replay of inference traces against simulated workers."""

from replay_sim._core import __revision__, __version__

__all__ = ["__revision__", "__version__"]
