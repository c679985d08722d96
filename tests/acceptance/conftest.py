"""What the acceptance tests share: the built wheelhouse, installed once, and the images.

Nothing is skipped where they are missing: `make images` makes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.engine import connect
from harness.errors import HarnessError
from harness.paths import find_root
from harness.smoke import trace_facts
from harness.smoke.acceptance import Trace
from harness.smoke.image_facts import inspect
from harness.smoke.install import folder_of_wheels, install, make_environment
from harness.smoke.lanes.host import HostLane, find_interpreter
from harness.smoke.lanes.image import ImageLane
from harness.smoke.offline import find_cut
from harness.smoke.plan import PUBLIC_FOLDER, SAMPLE, load_house
from harness.smoke.prepare import SCRIPT_FOLDER, WheelhouseUnderTest
from harness.smoke.public_traces import PUBLIC, find_public

ROOT = find_root(Path(__file__).parent)


@pytest.fixture(scope="session")
def house() -> WheelhouseUnderTest:
    """The wheelhouse of `make images`."""
    try:
        return load_house(ROOT / "build" / "wheelhouse")
    except HarnessError as error:
        pytest.fail(f"these tests need the built wheelhouse: {error}\nrun: make images")


@pytest.fixture(scope="session")
def host_lane(house: WheelhouseUnderTest, tmp_path_factory: pytest.TempPathFactory) -> HostLane:
    """The wheelhouse installed into a fresh environment, offline."""
    cut = find_cut()
    folder = tmp_path_factory.mktemp("host") / "all"
    environment = make_environment(find_interpreter("python3"), folder)
    done = install(environment, folder_of_wheels(house.folder), house.manifest.wheels, cut).outcome
    assert done.exit_code == 0, done.tail()
    return HostLane("host", environment, cut)


@pytest.fixture(scope="session")
def traces() -> dict[str, Trace]:
    """The traces that cases name, by name: the sample, and what public ones are there."""
    sample = ROOT / SAMPLE
    paths = {"sample": sample, "given": sample}
    for name in PUBLIC:
        path = find_public(name, (ROOT / PUBLIC_FOLDER).resolve())
        if path is not None:
            paths[name] = path
    return {name: Trace(path, trace_facts.count(path)) for name, path in paths.items()}


@pytest.fixture(scope="session")
def cpu_lane() -> Iterator[ImageLane]:
    """The CPU image of `make images`."""
    try:
        client = connect()
        facts = inspect(client, "replay-sim:cpu")
    except HarnessError as error:
        pytest.fail(f"these tests need the CPU image: {error}\nrun: make images")
    yield ImageLane("replay-sim:cpu", "cpu", client, facts, SCRIPT_FOLDER)
    client.close()
