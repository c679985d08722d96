"""A policy entry or a pin that nothing in the repository meets."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context
from harness.pins.walk import glob

CODE = "unused-policy"
SUMMARY = "an entry of the pins file matches nothing"


def check(context: Context) -> Iterator[Finding]:
    """Yield a warning for every idle policy entry, and a note for every pin without a place."""
    pins = context.pins
    for item in pins.policy.exclude:
        pattern = glob(item.text)
        if not any(pattern.fullmatch(path) for path in context.repository.all_files):
            yield finding(
                CODE,
                "warning",
                pins.document,
                item.span,
                f"exclude matches no file: {item.text}",
                found=item.text,
                fix="remove or correct the entry",
            )
    for allow in pins.policy.allow:
        if allow not in context.used_allowances:
            yield finding(
                CODE,
                "warning",
                pins.document,
                allow.at.span,
                "this allowance allows nothing that was found",
                found=allow.at.text,
                fix="remove it",
            )
    named = {j.pin.name for j in context.judgements if j.pin is not None}
    for pin in pins.pins:
        if pin.subjects() and pin.name not in named:
            yield finding(
                CODE,
                "note",
                pins.document,
                pin.at.span,
                f"nothing in the repository names what pin {pin.name!r} is about",
                fix="remove the pin, or correct its names",
            )
