"""An image tag that is no version: what it names changes from day to day."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding
from harness.pins.rules import Context, off_pin
from harness.pins.tokens import NamedContext

CODE = "moving-image"
SUMMARY = "an image has no tag, or one that is no version (latest, stable, a code name)"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every image whose tag is no version and that has no digest."""
    contexts = {fact.name for _, fact in context.repository.facts(NamedContext)}
    for judgement in context.judgements:
        claim = judgement.claim
        image = claim.kind == "image" or (
            claim.kind == "build-arg" and judgement.pin is not None and judgement.pin.images
        )
        if claim.how == "# syntax" and claim.digest is None and claim.tag.count(".") < 2:
            yield finding(
                CODE, "note", judgement.document, judgement.at.span,
                f"the syntax {claim.name}:{claim.tag} follows new releases",
                expected="a full version or a digest", found=claim.tag, subject=claim.name,
            )  # fmt: skip
        if judgement.status != "moving" or not image or claim.name in contexts:
            continue
        tag = f"tag {claim.tag or claim.text!r}" if claim.tag or claim.text else "no tag"
        message = f"{claim.how}: image {claim.name} has {tag}, which moves"
        if judgement.pin is not None:
            yield off_pin(context, CODE, judgement, message)
            continue
        yield finding(
            CODE, "error", judgement.document, judgement.at.span, message,
            expected="a version tag or a digest", found=claim.tag or claim.text or "no tag",
            fix="name a version (image:1.2) or a digest (image@sha256:…)",
                subject=judgement.claim.name,
        )  # fmt: skip
