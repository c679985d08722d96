"""Options, configuration documents and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import replay_sim
from replay_sim import config, options

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

#: A value of every option that is not its default, and what the document then holds.
CHANGED: dict[str, tuple[Any, Any]] = {
    "trace_format": ("azure", "azure"),
    "trace_block_size": (1024, 1024),
    "block_size": (128, 128),
    "num_gpu_blocks": (99, 99),
    "max_num_seqs": (7, 7),
    "max_num_batched_tokens": (4096, 4096),
    "max_model_len": (8000, 8000),
    "prefix_caching": (False, False),
    "chunked_prefill": (False, False),
    "timing": ("fixed:10,1.5", {"type": "fixed", "prefill_ms": 10.0, "decode_ms": 1.5}),
    "workers": (5, 5),
    "dp_size": (2, 2),
    "router": ("kv_router", "kv_router"),
    "speedup": (2.5, 2.5),
    "concurrency": (3, 3),
    "seed": (2**64 - 1, 2**64 - 1),
    "max_sim_time": (1.5, 1500.0),
    "sla_ttft": (100.0, 100.0),
    "sla_itl": (20.0, 20.0),
}
#: Options with a single value so far.
ONLY_ONE = {"engine": "vllm"}


def value_at(document: Any, setting: str) -> Any:
    for key in setting.split("."):
        document = document[key]
    return document


def test_the_table_and_the_declared_keywords_agree() -> None:
    table = [option.name for option in options.OPTIONS]
    assert set(table) == set(get_type_hints(replay_sim.Options))
    assert set(table) == set(CHANGED) | set(ONLY_ONE)
    assert len(set(table)) == len(table)


@pytest.mark.parametrize("option", options.OPTIONS, ids=lambda option: option.name)
def test_every_option_reaches_its_setting(option: options.Option) -> None:
    default = value_at(replay_sim.resolve_config(), option.setting)
    if option.name in ONLY_ONE:
        assert default == ONLY_ONE[option.name]
        return
    given, expected = CHANGED[option.name]
    keyword: Any = {option.name: given}
    assert default != expected
    assert value_at(replay_sim.resolve_config(**keyword), option.setting) == expected


def test_options_go_before_the_document() -> None:
    document = {"cluster": {"workers": 2}, "seed": 4}
    resolved = replay_sim.resolve_config(document, workers=3)
    assert resolved["cluster"]["workers"] == 3
    assert resolved["seed"] == 4
    assert document == {"cluster": {"workers": 2}, "seed": 4}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"engine": {"blok_size": 16}}, "did you mean engine.block_size"),
        ({"enginee": {}}, "did you mean engine"),
        ({"zzz": 1}, "use one of trace, load"),
        ({"engine": 5}, "engine: 5 is not a table"),
        ({"seed": {"a": 1}}, "invalid type"),
        ({"engine": {"timing": {"type": "guess"}}}, "unknown variant `guess`"),
        ({"engine": {"timing": {"type": "fixed"}}}, "missing field `prefill_ms`"),
        ({"cluster": {"workers": -1}}, "invalid value"),
        ({"cluster": {"workers": 0}}, "can never serve"),
        ({"cluster": {"workers": 1.5}}, "invalid type"),
        ({"router": {"policy": "random"}}, "unknown variant `random`"),
        ({"router": {"temperature": 0.5}}, "round_robin knows no parameters"),
        ({"router": {"policy": "kv_router", "temperature": -1}}, "temperature"),
    ],
)
def test_wrong_documents_are_refused(document: dict[str, Any], message: str, sample: Path) -> None:
    with pytest.raises(replay_sim.ConfigError, match=message):
        replay_sim.run(sample, config=document)


def test_an_unknown_keyword_is_refused() -> None:
    keyword: Any = {"wrkers": 3}
    with pytest.raises(replay_sim.ConfigError, match="wrkers: there is no such option"):
        replay_sim.resolve_config(**keyword)


@pytest.mark.parametrize("text", ["guess", "fixed", "fixed:1", "fixed:a,b", "polynomial:3"])
def test_a_timing_model_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(replay_sim.ConfigError, match="is not a timing model"):
        replay_sim.resolve_config(timing=text)


DOCUMENT = {"cluster": {"workers": 2}, "engine": {"timing": {"type": "polynomial"}}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.json", json.dumps(DOCUMENT | {"trace": {"paths": ["t.jsonl"]}})),
        (
            "c.toml",
            "[cluster]\nworkers = 2\n[engine]\ntiming = {type = 'polynomial'}\n"
            "[trace]\npaths = ['t.jsonl']\n",
        ),
    ],
)
def test_configuration_files_hold_documents(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    document, paths = config.load(path)
    assert document == DOCUMENT | {"trace": {}}
    assert paths == [tmp_path / "t.jsonl"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", "{", "not a valid json file"),
        ("c.toml", "a = ", "not a valid toml file"),
        ("c.json", "[1]", "not a table of settings"),
        ("c.ini", "", "the kind of file is not known"),
        ("c.json", '{"trace": {"paths": "t"}}', "trace.paths is not a list"),
    ],
)
def test_wrong_configuration_files_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(replay_sim.ConfigError, match=message):
        config.load(path)


def test_a_missing_configuration_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(replay_sim.ConfigError, match=r"c\.toml: cannot be read"):
        config.load(tmp_path / "c.toml")
