"""The environment under test has no network."""

from __future__ import annotations

from collections.abc import Iterator

from harness.smoke.facts import Facts

TITLE = "no route leads out, and the host's listener is out of reach"
KINDS = ("host", "cpu", "gpu")


def problems(facts: Facts) -> Iterator[str]:
    """Yield every way out that the probe found."""
    network = facts.probe["network"]
    for device in network["routes"]:
        yield f"a route leads out through {device}"
    if network["listener_reached"]:
        yield "a listener on the host's loopback was reached"
