"""kv_router needs no simulator."""

from __future__ import annotations

from collections.abc import Iterator

from harness.smoke.facts import Facts

TITLE = "kv_router imports with replay_sim blocked, and does not try to import it"
KINDS = ("host", "cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield a failed import, and every attempt that was caught and hidden."""
    router = facts.probe["packages"]["kv_router"]
    if router["error"]:
        yield f"kv_router can't be imported alone: {router['error']}"
    for name in router["blocked_attempts"]:
        yield f"kv_router tried to import {name}"
