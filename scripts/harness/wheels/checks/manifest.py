"""manifest.json and requirements.txt, where the house has them, describe exactly its wheels."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import InputError
from harness.wheels.findings import Finding
from harness.wheels.first_party import read_build_info
from harness.wheels.house import House
from harness.wheels.manifest import MANIFEST, REQUIREMENTS, Manifest, describe, load
from harness.wheels.wheel import Wheel

FIX = "make wheels"


def check(house: House) -> Iterator[Finding]:
    """Report wheels that the manifest does not describe, and the other way round."""
    if not (house.folder / MANIFEST).exists():
        return
    try:
        manifest = load(house.folder)
    except InputError as error:
        yield Finding("manifest-unreadable", MANIFEST, error.message, fix=FIX)
        return
    present = {wheel.filename: wheel for wheel in house.wheels}
    listed = {entry.filename for entry in manifest.wheels}
    for name in sorted(listed - set(present)):
        yield Finding("manifest-absent", name, "in the manifest but not in the house", fix=FIX)
    for name in sorted(set(present) - listed):
        yield Finding("manifest-unlisted", name, "in the house but not in the manifest", fix=FIX)
    for entry in manifest.wheels:
        wheel = present.get(entry.filename)
        if wheel is None:
            continue
        actual = describe(wheel, own=entry.first_party, revision=entry.revision)
        for field in ("name", "version", "tags", "sha256", "size"):
            expected, found = getattr(entry, field), getattr(actual, field)
            if expected != found:
                yield Finding(
                    "manifest-differs",
                    entry.filename,
                    f"the wheel's {field} is not the one in the manifest",
                    expected=str(expected),
                    found=str(found),
                    fix=FIX,
                )
        if entry.first_party:
            yield from _source(manifest, wheel)
    yield from _requirements(house, manifest)


def _source(manifest: Manifest, wheel: Wheel) -> Iterator[Finding]:
    try:
        info = read_build_info(wheel)
    except ValueError:
        return  # Reported by the first-party check.
    expected = (manifest.revision, manifest.tree, manifest.dirty)
    found = (info.revision, info.tree, info.dirty)
    if expected != found:
        yield Finding(
            "manifest-source",
            wheel.filename,
            "the wheel was built from other source than the manifest says",
            expected=str(expected),
            found=str(found),
            fix=FIX,
        )


def _requirements(house: House, manifest: Manifest) -> Iterator[Finding]:
    path = house.folder / REQUIREMENTS
    # Compared whole: pip skips a hash on a line of its own, and installs unverified (pip#11935).
    text = path.read_text("utf-8", "replace") if path.is_file() else None
    if text != manifest.render_requirements():
        yield Finding(
            "requirements-differ",
            REQUIREMENTS,
            "not the wheels of the manifest, one a line, pinned and hashed",
            found="missing" if text is None else None,
            fix=FIX,
        )
