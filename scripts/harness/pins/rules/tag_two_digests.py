"""One image tag with two digests: the stages start from different images."""

from __future__ import annotations

from collections.abc import Iterator

from harness.pins.findings import Finding, finding, place
from harness.pins.rules import Context
from harness.pins.text import UNRESOLVED, Document
from harness.pins.tokens import Claim

CODE = "tag-two-digests"
SUMMARY = "one image tag has two digests"


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding where a tag has another digest than elsewhere, for the same platform."""
    first: dict[tuple[str, str], list[tuple[Document, Claim]]] = {}
    for document, claim in context.repository.claims():
        if claim.kind == "image" and claim.aspect == "digest" and UNRESOLVED not in claim.text:
            first.setdefault((claim.name, claim.tag), []).append((document, claim))
    for (name, tag), places in first.items():
        places.sort(key=lambda item: context.status_at(item[0].path, item[1].at.span) == "off")
        for number, (document, claim) in enumerate(places):
            known = next((p for p in places[:number] if _conflict(claim, p[1])), None)
            if known is None:
                continue
            yield finding(
                CODE,
                "error",
                document,
                claim.at.span,
                f"{name}:{tag or 'latest'} has another digest here than elsewhere",
                expected=known[1].text,
                found=claim.text,
                related=[place(known[0], known[1].at.span)],
                fix="use one digest, or name the platforms",
            )


def _conflict(claim: Claim, known: Claim) -> bool:
    """The digests of two architectures differ; both must say which one they are."""
    platforms = {claim.platform, known.platform}
    apart = len(platforms) == 2 and all(p and UNRESOLVED not in p for p in platforms)
    return claim.text != known.text and not apart
