"""A branch, a tag or no reference at all where a commit id is meant."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.compare import Judgement
from harness.pins.findings import Finding, finding
from harness.pins.rules import Context, off_pin

CODE = "moving-ref"
SUMMARY = "a git reference moves: a branch, a tag or the default branch"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every moving reference.

    Dependencies are held to it whether pinned or not. Actions, hooks and clones that no pin names
    follow `[policy] unpinned-refs`.
    """
    for judgement in context.judgements:
        if judgement.status != "moving" or judgement.claim.kind in ("image", "toolchain"):
            continue
        if judgement.pin is not None:
            if not judgement.pin.toolchain:
                yield off_pin(context, CODE, judgement, _message(judgement))
            continue
        dependency = judgement.claim.kind in ("crate", "distribution")
        severity = "error" if dependency else context.pins.policy.unpinned_refs
        if severity != "off":
            yield finding(
                CODE, severity, judgement.document, judgement.at.span, _message(judgement),
                expected="a full commit id", found=judgement.claim.text or "the default branch",
                fix="write the 40-digit commit id that you mean",
                subject=judgement.claim.name,
            )  # fmt: skip


def _message(judgement: Judgement) -> str:
    claim = judgement.claim
    if not claim.text:
        return f"{claim.how}: {claim.name} follows the default branch"
    kind = claim.ref if claim.ref in ("branch", "tag") else "branch or tag"
    return f"{claim.how}: {claim.name} follows the {kind} {claim.text!r}, which moves"
