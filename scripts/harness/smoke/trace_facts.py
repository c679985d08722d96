"""What the harness counts in a trace itself: an oracle that shares no code with the simulator."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.errors import InputError


def format_of(path: Path) -> str:
    """Return the format of a trace, by its suffix: "azure" for CSV, else "mooncake"."""
    return "azure" if path.suffix == ".csv" else "mooncake"


def count(path: Path) -> dict[str, int]:
    """Return `requests`, `input-tokens` and `output-tokens` of a trace.

    Reads Mooncake JSONL (`input_length`, `output_length`) and Azure CSV (`ContextTokens`,
    `GeneratedTokens`). Raises InputError where the file is missing, empty or malformed, with the
    line.
    """
    if not path.is_file():
        raise InputError(
            "no such trace", where=str(path), fix="name one that is there: TRACE=… or --trace"
        )
    reader = _csv_rows if format_of(path) == "azure" else _jsonl_rows
    requests = inputs = outputs = 0
    with path.open(encoding="utf-8", newline="") as stream:
        for input_length, output_length in _guarded(path, stream, reader):
            requests += 1
            inputs += input_length
            outputs += output_length
    if not requests:
        raise InputError("the trace holds no request", where=str(path))
    return {"requests": requests, "input-tokens": inputs, "output-tokens": outputs}


Reader = Callable[[list[str], str], tuple[int, int] | None]


def _guarded(path: Path, stream: Iterable[str], reader: Reader) -> Iterable[tuple[int, int]]:
    header: list[str] = []
    for number, line in enumerate(stream, start=1):
        try:
            row = reader(header, line)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"not a request of a trace: {error!r}",
                where=f"{path}:{number}",
                fix="give a Mooncake JSONL or an Azure CSV trace",
            ) from error
        if row is not None:
            yield row


def _jsonl_rows(_: list[str], line: str) -> tuple[int, int] | None:
    if not line.strip():
        return None
    row = json.loads(line)
    return int(row["input_length"]), int(row["output_length"])


def _csv_rows(header: list[str], line: str) -> tuple[int, int] | None:
    (fields,) = csv.reader([line])
    if not header:
        header.extend(fields)
        return None
    row = dict(zip(header, fields, strict=True))
    return int(row["ContextTokens"]), int(row["GeneratedTokens"])
