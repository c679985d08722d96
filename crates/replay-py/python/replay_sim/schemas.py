"""JSON Schemas of what goes in and what comes out.

Those of results are derived from the shapes in `replay_sim.types`, that of a configuration from
the settings that the core knows: nothing is written down twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from replay_sim import _core, options, types
from replay_sim.planner import Plan

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Every number of a result is a count, a share, a length or a time.
PLAIN: Mapping[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
    str: {"type": "string"},
    NoneType: {"type": "null"},
    Any: {},
}
#: Settings without a default value and without an option, and what they hold.
UNSET: Mapping[str, type] = {"router.queue_threshold": float}


def schema(of: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a document.

    Args:
        of: `report`, `requests` (one line of that file), `inspection`, `plan` or `config`.

    Raises:
        KeyError: there is no such document.
    """
    return SCHEMAS[of]()


def _of_type(name: str, shape: type) -> Schema:
    definitions: dict[str, Schema] = {}
    root = _described(shape, definitions)
    return {
        "$schema": DIALECT,
        "$id": f"urn:replay-sim:{name}:v1",
        "title": (shape.__doc__ or name).splitlines()[0],
        **root,
        "$defs": definitions,
    }


def _described(shape: Any, definitions: dict[str, Schema]) -> Schema:
    if is_typeddict(shape):
        name = shape.__name__
        if name not in definitions:
            definitions[name] = {}  # Its place is taken before its fields are looked at.
            definitions[name] = _table(
                {
                    field: _described(hint, definitions)
                    for field, hint in get_type_hints(shape).items()
                },
                sorted(shape.__required_keys__),
            )
        return {"$ref": f"#/$defs/{name}"}
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return {"anyOf": [_described(argument, definitions) for argument in arguments]}
    if origin is list:
        return {"type": "array", "items": _described(arguments[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _described(arguments[1], definitions)}
    return PLAIN[shape]


def _configuration() -> Schema:
    known = json.loads(_core.resolve_config("{}"))
    by_setting = {option.setting: option for option in options.OPTIONS}
    root = _settings("", known, by_setting)
    paths = {"type": "array", "items": {"type": "string"}, "description": "the trace files"}
    root["properties"]["trace"]["properties"]["paths"] = paths
    title = "The settings of a replay; what is left out has its default."
    return {"$schema": DIALECT, "$id": "urn:replay-sim:config:v1", "title": title, **root}


def _settings(
    prefix: str, known: Mapping[str, Any], by_setting: Mapping[str, options.Option]
) -> Schema:
    properties = {}
    for key, default in known.items():
        setting = prefix + key
        option = by_setting.get(setting)
        if isinstance(default, Mapping) and option is None:
            properties[key] = _settings(f"{setting}.", default, by_setting)
            continue
        if isinstance(default, Mapping):
            # Its type decides what else it holds: the core checks that.
            entry: Schema = {"type": "object", "required": ["type"]}
        elif option is not None and option.choices:
            entry = {"enum": list(option.choices)}
        elif default is None:
            kind = option.type if option else UNSET[setting]
            entry = {"anyOf": [PLAIN[kind], PLAIN[NoneType]]}
        else:
            entry = dict(PLAIN[type(default)])
        if option is not None:
            entry["description"] = option.help
        properties[key] = {**entry, "default": default}
    return _table(properties, [])


def _table(properties: Mapping[str, Schema], required: list[str]) -> Schema:
    table: Schema = {"type": "object", "properties": dict(properties)}
    if required:
        table["required"] = required
    return {**table, "additionalProperties": False}


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "report": lambda: _of_type("report", types.Report),
    "requests": lambda: _of_type("requests", types.RequestRow),
    "inspection": lambda: _of_type("inspection", types.Inspection),
    "plan": lambda: _of_type("plan", Plan),
    "config": _configuration,
}
