"""Pass times: the short form of a timing model, and tables of measured times."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay_sim.errors import ConfigError

#: The columns of a table, in any order. `tokens`: of a prefill pass its prompt tokens, of a decode
#: pass the mean context of its requests. `requests`: those of a decode pass, empty for prefill.
COLUMNS = ("part", "requests", "tokens", "ms")


def parse(text: str) -> dict[str, Any]:
    """Read `polynomial`, `fixed:PREFILL_MS,DECODE_MS` or `table:FILE`.

    Raises:
        ConfigError: it is none of them, or the file is wrong.
    """
    kind, _, rest = text.partition(":")
    if kind == "polynomial" and not rest:
        return {"type": "polynomial"}
    if kind == "table" and rest:
        return {"type": "table", **read_table(Path(rest))}
    try:
        if kind == "fixed":
            prefill, decode = map(float, rest.split(","))
            return {"type": "fixed", "prefill_ms": prefill, "decode_ms": decode}
    except ValueError:
        pass
    raise ConfigError(
        f"engine.timing: {text!r} is not a timing model\n"
        "  fix: give polynomial, fixed:PREFILL_MS,DECODE_MS such as fixed:10,1, or table:FILE.csv"
    )


def resolve(timing: Any, folder: Path) -> Any:
    """Put the points of `{"type": "table", "path": FILE}` in the place of the path.

    Args:
        timing: the setting; whatever is not such a table is returned as it is.
        folder: where a relative path starts.

    Raises:
        ConfigError: the file is wrong, or there are points beside it.
    """
    if not isinstance(timing, dict) or timing.get("type") != "table" or "path" not in timing:
        return timing
    rest = {key: value for key, value in timing.items() if key != "path"}
    if not isinstance(timing["path"], str) or rest.keys() & {"prefill", "decode"}:
        raise ConfigError(
            f"engine.timing.path: {timing['path']!r} is not the one source of the points\n"
            "  fix: give the name of a CSV file, or prefill and decode, but not both"
        )
    return {**rest, **read_table(folder / timing["path"])}


def read_table(path: Path) -> dict[str, Any]:
    """Read measured pass times: CSV with the columns part, requests, tokens, ms.

    Returns:
        `prefill`: a list of (tokens, ms); `decode`: a list of curves, `requests` and `times`.

    Raises:
        ConfigError: the file cannot be read, or a line is wrong.
    """
    prefill: dict[int, float] = {}
    decode: dict[int, dict[int, float]] = {}
    for place, row in _rows(path):
        part = row["part"]
        if part not in {"prefill", "decode"}:
            raise _wrong(place, f"part {part!r} is unknown", "write prefill or decode")
        if part == "prefill" and row["requests"]:
            what = f"a prefill time does not depend on requests {row['requests']!r}"
            raise _wrong(place, what, "leave the column empty")
        curve = prefill
        if part == "decode":
            curve = decode.setdefault(_count(place, row, "requests"), {})
        tokens = _count(place, row, "tokens")
        if tokens in curve:
            raise _wrong(place, "this point is there already", "keep one of the lines")
        curve[tokens] = _time(place, row["ms"])
    for part, points in (("prefill", prefill), ("decode", decode)):
        if not points:
            raise _wrong(str(path), f"there is no {part} time", "measure at least one")
    return {
        "prefill": sorted(prefill.items()),
        "decode": [
            {"requests": requests, "times": sorted(curve.items())}
            for requests, curve in sorted(decode.items())
        ],
    }


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        # Universal newlines and an optional byte-order mark: spreadsheets write both.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [cell.strip() for cell in next(reader, [])]
            if sorted(header) != sorted(COLUMNS):
                what = f"the columns are {', '.join(header) or 'missing'}"
                raise _wrong(f"{path}:1", what, f"start the file with {','.join(COLUMNS)}")
            for cells in reader:
                place = f"{path}:{reader.line_num}"
                if len(cells) not in {0, len(COLUMNS)}:
                    what = f"{len(cells)} cells in {len(COLUMNS)} columns"
                    raise _wrong(place, what, "give one value for each column")
                if cells:
                    yield place, dict(zip(header, map(str.strip, cells), strict=True))
    except OSError as error:
        raise _wrong(str(path), f"cannot be read: {error.strerror}", "check the path") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise _wrong(str(path), f"not a CSV file: {error}", "repair it") from error


def _count(place: str, row: dict[str, str], column: str) -> int:
    text = row[column]
    if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0:
        return int(text)
    raise _wrong(place, f"{column} {text!r} is not a count", "give a whole number, at least 1")


def _time(place: str, text: str) -> float:
    try:
        ms = float(text)
    except ValueError:
        ms = math.nan
    if 0 <= ms <= 1e7:
        return ms
    raise _wrong(place, f"ms {text!r} is not a time", "give milliseconds, 0 to 10,000,000")


def _wrong(place: str, what: str, fix: str) -> ConfigError:
    return ConfigError(f"{place}: {what}\n  fix: {fix}")
