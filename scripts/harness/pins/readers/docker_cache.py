"""Cache mounts that nothing ever writes to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.pins.shell import Command
from harness.pins.text import UNRESOLVED, Traced

_TRUE = frozenset({"1", "true", "yes", "on", "t", "y"})
_CARGO = re.compile(r"(.*/\.?cargo)(?:/(?:registry|git|bin).*)?/?")


def cache_reason(
    target: str, image: str, user: str, env: Mapping[str, Traced], commands: list[Command]
) -> str | None:
    """Say why a cache mounted at `target` stays empty, or None where it may be used.

    Args:
        target: The mount point.
        image: The image that the stage starts from (`rust` sets CARGO_HOME).
        user: The user that RUN runs as; empty where the file does not say.
        env: The variables of the stage.
        commands: What RUN runs.
    """
    values = {name: value.text for name, value in env.items()}
    for command in commands:
        values.update({name: value.text for name, value in command.assignments})
    if cargo := _CARGO.fullmatch(target):
        return _cargo(cargo[1], image, user, values)
    if "/.cache/pip" in target:
        return _python(
            "pip", "PIP_NO_CACHE_DIR", "PIP_CACHE_DIR", "--no-cache-dir", target, values, commands
        )
    if "/.cache/uv" in target:
        return _python("uv", "UV_NO_CACHE", "UV_CACHE_DIR", "--no-cache", target, values, commands)
    return _home(target, user)


def _home(target: str, user: str) -> str | None:
    if target.startswith("/root/") and user not in ("", "root", "0") and UNRESOLVED not in user:
        return f"RUN runs as {user}, whose home is not /root"
    return None


def _cargo(mounted: str, image: str, user: str, values: Mapping[str, str]) -> str | None:
    home = values.get("CARGO_HOME", "")
    if UNRESOLVED in home:
        return None
    name = image.rpartition("/")[2].partition(":")[0].partition("@")[0]
    if not home and name == "rust":
        home = "/usr/local/cargo"
    if home and home.rstrip("/") != mounted:
        return f"CARGO_HOME is {home}"
    return None if home else _home(f"{mounted}/", user)


def _python(
    tool: str,
    off: str,
    folder: str,
    option: str,
    target: str,
    values: Mapping[str, str],
    commands: list[Command],
) -> str | None:
    if values.get(off, "").lower() in _TRUE:
        return f"{off} is set"
    moved = values.get(folder, "")
    if moved and UNRESOLVED not in moved and moved.rstrip("/") != target.rstrip("/"):
        return f"{folder} is {moved}"
    users = [
        command
        for command in commands
        if any(
            re.fullmatch(rf"{tool}\d*", word.text.rpartition("/")[2]) for word in command.words[:3]
        )
    ]
    if users and all(any(word.text == option for word in command.words) for command in users):
        return f"{tool} runs with {option}"
    return None
