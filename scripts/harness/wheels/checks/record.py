"""RECORD lists every member, with the hash and size that the member has."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

from harness.wheels.findings import Finding
from harness.wheels.wheel import RecordRow, Wheel

FIX = "build the wheel again; something changed it after RECORD was written"
# RECORD can't hold its own hash; signatures are made after it.
UNHASHED = ("RECORD", "RECORD.jws", "RECORD.p7s")
# The wheel specification: sha256 or better.
ALGORITHMS = ("sha256", "sha384", "sha512")


def check(wheel: Wheel) -> Iterator[Finding]:
    """Report members that RECORD does not describe as they are."""
    if wheel.record is None:
        yield Finding("record-missing", wheel.filename, "the wheel has no readable RECORD", fix=FIX)
        return
    unhashed = {f"{wheel.dist_info}/{name}" for name in UNHASHED}
    listed: set[str] = set()
    for row in wheel.record:
        if row.path in listed:
            yield _finding(wheel, "record-duplicate", row.path, "RECORD lists this member twice")
        listed.add(row.path)
        if row.path not in wheel.files:
            yield _finding(wheel, "record-absent", row.path, "in RECORD but not in the wheel")
        elif row.path not in unhashed:
            yield from _compare(wheel, row)
    for name in wheel.files:
        if name not in listed and name not in unhashed:
            yield _finding(wheel, "record-unlisted", name, "in the wheel but not in RECORD")


def _compare(wheel: Wheel, row: RecordRow) -> Iterator[Finding]:
    algorithm, _, _ = row.digest.partition("=")
    if algorithm not in ALGORITHMS:
        yield _finding(
            wheel,
            "record-hash",
            row.path,
            "RECORD has no usable hash",
            expected=f"one of {', '.join(ALGORITHMS)}",
            found=row.digest or "none",
        )
        return
    data = wheel.read(row.path)
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, data).digest()).decode().rstrip("=")
    actual = f"{algorithm}={digest}"
    if actual != row.digest:
        yield _finding(
            wheel,
            "record-hash",
            row.path,
            "the bytes are not those that RECORD was written for",
            expected=row.digest,
            found=actual,
        )
    elif row.size != str(len(data)):
        yield _finding(
            wheel,
            "record-size",
            row.path,
            "the size is not the one in RECORD",
            expected=row.size,
            found=str(len(data)),
        )


def _finding(
    wheel: Wheel,
    code: str,
    member: str,
    message: str,
    *,
    expected: str | None = None,
    found: str | None = None,
) -> Finding:
    return Finding(code, wheel.filename, message, member, expected, found, FIX)
