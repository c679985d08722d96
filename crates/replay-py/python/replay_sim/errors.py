"""The exceptions of the package.

Each message says what is wrong, where, what was expected, and the fix.
"""

from __future__ import annotations

from replay_sim._core import ConfigError, ReplayError, TraceError

__all__ = ["ConfigError", "ReplayError", "TraceError"]
