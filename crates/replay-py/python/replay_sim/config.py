"""Configuration files: one document in TOML, JSON or YAML."""

from __future__ import annotations

import difflib
import importlib
import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replay_sim import _core, timing
from replay_sim.errors import ConfigError


def load(path: Path) -> tuple[dict[str, Any], list[Path]]:
    """Read a configuration file.

    Returns:
        The document without `trace.paths`, and those paths. Relative ones, that of a table of pass
        times included, are taken from the folder of the file.

    Raises:
        ConfigError: the file cannot be read, or is not a document of settings.
    """
    document = read(path)
    trace = document.get("trace")
    paths = trace.pop("paths", []) if isinstance(trace, dict) else []
    if not isinstance(paths, list) or not all(isinstance(item, str) for item in paths):
        raise _error(path, "trace.paths is not a list of file names", 'write ["trace.jsonl"]')
    engine = document.get("engine")
    if isinstance(engine, dict) and "timing" in engine:
        engine["timing"] = timing.resolve(engine["timing"], path.parent)
    return document, [path.parent / item for item in paths]


def read(path: Path) -> dict[str, Any]:
    """Read a file of settings in TOML, JSON or YAML, whatever they are for.

    Raises:
        ConfigError: the file cannot be read, or is not a document of settings.
    """
    document = _parse(path)
    if not isinstance(document, dict):
        raise _error(path, "the file is not a table of settings", "see docs/replay.md")
    return document


def check(document: Mapping[str, Any]) -> None:
    """Refuse unknown settings, with the nearest known one, and numbers that JSON cannot carry.

    The core checks everything else.

    Raises:
        ConfigError: a setting does not exist, or is not finite.
    """
    known = json.loads(_core.resolve_config("{}"))
    # The model of a timing decides which settings it has: the core checks those.
    known["engine"]["timing"] = None
    _check_table("", document, known)


def _check_table(prefix: str, table: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            fix = f"did you mean {prefix}{near[0]}?" if near else f"use one of {', '.join(known)}"
            raise ConfigError(f"{prefix}{key}: there is no such setting\n  fix: {fix}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{prefix}{key}: {value} is not a number\n  fix: give a finite one")
        inner = known[key]
        if isinstance(inner, Mapping):
            if not isinstance(value, Mapping):
                raise ConfigError(
                    f"{prefix}{key}: {value!r} is not a table of settings\n"
                    f"  fix: use its settings {', '.join(inner)}"
                )
            _check_table(f"{prefix}{key}.", value, inner)


def _parse(path: Path) -> Any:
    kind = path.suffix.lower()
    try:
        text = path.read_text(encoding="utf-8")
        if kind == ".toml":
            return tomllib.loads(text)
        if kind == ".json":
            return json.loads(text)
        if kind in {".yaml", ".yml"}:
            return importlib.import_module("yaml").safe_load(text)
    except OSError as error:
        raise _error(path, f"cannot be read: {error.strerror}", "check the path") from error
    except ImportError as error:
        fix = "pip install pyyaml, or write the file as TOML or JSON"
        raise _error(path, "PyYAML is not installed", fix) from error
    except Exception as error:
        # Each reader has its own class for bad text; none of them derives from another.
        raise _error(path, f"not a valid {kind[1:]} file: {error}", "repair it") from error
    raise _error(path, "the kind of file is not known", "name it .toml, .json, .yaml or .yml")


def _error(path: Path, what: str, fix: str) -> ConfigError:
    return ConfigError(f"{path}: {what}\n  fix: {fix}")
