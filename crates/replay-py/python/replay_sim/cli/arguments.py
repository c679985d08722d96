"""Options on the command line, from the table of options."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Any

from replay_sim import _core
from replay_sim.options import Option


def add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Add options in their groups; their help shows the defaults of the core."""
    defaults = json.loads(_core.resolve_config("{}"))
    groups: dict[str, Any] = {}
    for option in options:
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        keywords: dict[str, Any] = {
            "dest": option.name,
            "help": option.help + _default(option, defaults),
        }
        if option.switch_off:
            keywords |= {"action": "store_false", "default": None}
        else:
            keywords |= {"type": option.type, "metavar": option.metavar, "choices": option.choices}
        groups[option.group].add_argument(option.flag, **keywords)


def _default(option: Option, defaults: dict[str, Any]) -> str:
    if option.switch_off:
        return ""
    value: Any = defaults
    for key in option.setting.split("."):
        value = value[key]
    if isinstance(value, dict):
        value = value["type"]
    return " (default: none)" if value is None else f" (default: {value})"
