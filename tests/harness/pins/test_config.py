"""The pins file: every mistake is named with its line; the JSON Schema says the same."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest

from harness.errors import InputError
from harness.pins import config
from harness.pins.text import Document
from tests.conftest import ROOT
from tests.harness.pins.trees import CASES, PINS, load_cases

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

SCHEMA = json.loads((ROOT / "scripts/harness/pins/schema/pins.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GOOD = 'schema = 1\n[[pin]]\nname = "x"\nversion = "1.0"\n'


def load(text: str) -> config.Pins:
    return config.parse(Document("deps/pins.toml", text.encode()))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "schema must be 1"),
        ("schema = 2\n", 1, "schema must be 1"),
        ("schema = 1\nschema = 1\n", 2, "not TOML"),
        ("schema = 1\n[[pin]\n", 2, "not TOML"),
        ("schema = 1\n[pins]\n", 2, "unknown key 'pins'"),
        ("schema = 1\n[pin]\n", 2, "pin must be an array of tables"),
        ('schema = 1\n[[pin]]\nversion = "1"\n', 2, "a pin without a name"),
        ('schema = 1\n[[pin]]\nname = "x"\n', 2, "no version, revision or digest"),
        (GOOD + "\n" + GOOD.split("\n", 1)[1], 6, "two pins are named 'x'"),
        (GOOD + 'crate = ["y"]\n', 5, "unknown key 'crate'"),
        (GOOD + 'crates = "y"\n', 5, "crates must be a list of strings"),
        (GOOD + "crates = [1]\n", 5, "crates must be a list of strings"),
        (GOOD.replace('"1.0"', "1.0"), 4, "version must be a string"),
        (GOOD.replace("1.0", "one"), 4, "version 'one' is not a version"),
        (GOOD + 'revision = "1234567"\n', 5, "not a full commit id"),
        (GOOD + 'digest = "sha256:1"\nimages = ["i"]\n', 5, "not sha256"),
        (GOOD + f'digest = "sha256:{"a" * 64}"\n', 5, "a digest needs images"),
        (GOOD + 'toolchain = "go"\n', 5, "not rust or python"),
        (GOOD + '[source]\ngit = "."\n', 5, "[source] needs git, revision and tree"),
        (GOOD + '[policy]\nexcludes = ["x"]\n', 6, "unknown key 'excludes'"),
        (GOOD + '[policy]\nunknown-revisions = "loud"\n', 6, "not one of off"),
        (GOOD + '[policy]\nexclude = ["[b-a]"]\n', 6, "not a glob"),
        (GOOD + '[policy]\nrequire = ["../x"]\n', 6, "inside the repository"),
        (GOOD + '[[policy.allow]]\ncode = "moving-ref"\n', 5, "needs a reason"),
        (GOOD + '[[policy.allow]]\nreason = "r"\n', 5, "needs a code"),
        (GOOD + '[[policy.allow]]\nreason = "r"\ncode = "moving-rev"\n', 7, "no such code"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(text)
    assert message in caught.value.message
    assert caught.value.where == f"deps/pins.toml:{line}"


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(InputError, match="did you mean 'crates'"):
        load(GOOD + 'crate = ["y"]\n')


def test_everything_is_loaded() -> None:
    pins = load(
        GOOD + f'revision = "{"1" * 40}"\nrepository = "https://h/o/x.git"\n'
        f'digest = "sha256:{"a" * 64}"\n'
        'crates = ["a_b"]\ndistributions = ["C.D"]\nimages = ["docker.io/library/e"]\n'
        'build-args = ["F"]\nactions = ["G/h"]\ntoolchain = "rust"\n'
        '[policy]\nexclude = ["x/**"]\nunknown-revisions = "error"\nunpinned-refs = "off"\n'
        'retired = ["y"]\nrequire = ["z"]\n[[policy.allow]]\ncode = "moving-ref"\nreason = "r"\n'
    )
    assert pins.pins[0].subjects() == [
        ("crate", "a-b"),
        ("distribution", "c-d"),
        ("image", "e"),
        ("build-arg", "F"),
        ("action", "g/h"),
        ("repository", "h/o/x"),
        ("toolchain", "rust"),
    ]
    assert pins.policy.unknown_revisions == "error"
    assert pins.policy.unpinned_refs == "off"
    assert pins.policy.allow[0].code == "moving-ref"


def test_the_schema_is_one_itself() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_our_own_pins_and_every_fixture_fit_the_schema() -> None:
    files = [ROOT / "deps/pins.toml"]
    files += [case.tree / "deps/pins.toml" for case in load_cases(CASES)]
    for file in files:
        VALIDATOR.validate(tomllib.loads(file.read_text("utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"pins": []},
        {"pin": [{"name": "x"}]},
        {"pin": [{"version": "1"}]},
        {"pin": [{"name": "x", "version": "1", "crate": ["y"]}]},
        {"pin": [{"name": "x", "revision": "1234567"}]},
        {"pin": [{"name": "x", "digest": "sha256:" + "a" * 64}]},
        {"pin": [{"name": "x", "version": "1", "toolchain": "go"}]},
        {"policy": {"unknown-revisions": "loud"}},
        {"policy": {"allow": [{"code": "x"}]}},
        {"policy": {"allow": [{"reason": "x"}]}},
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(change: dict[str, Any]) -> None:
    document = tomllib.loads(PINS)
    VALIDATOR.validate(document)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document | change)


def test_the_schema_knows_the_keys_of_the_loader() -> None:
    pin = SCHEMA["properties"]["pin"]["items"]["properties"]
    policy = SCHEMA["properties"]["policy"]["properties"]
    assert set(pin) == {*config.PIN_STRINGS, *config.PIN_LISTS}
    assert set(policy) == set(config.POLICY_KEYS)
