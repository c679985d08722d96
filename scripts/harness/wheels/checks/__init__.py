"""The checks of the audit, one idea a module.

A wheel check is `check(wheel) -> Iterator[Finding]` and looks at one wheel; a house check is
`check(house) -> Iterator[Finding]` and looks at the folder. Neither knows the others.
"""

from harness.wheels.checks import (
    abi3,
    archive,
    closure,
    elf,
    entry_points,
    first_party,
    identity,
    manifest,
    one_version,
    ownership,
    payload,
    record,
    tags,
)

# Nothing inside an archive that is itself unsound can be trusted: these come first and end the
# audit of a wheel where they find something.
GATES = (archive.check,)

WHEEL_CHECKS = (
    identity.check,
    record.check,
    tags.check,
    elf.check,
    abi3.check,
    payload.check,
    entry_points.check,
)

FIRST_PARTY_CHECKS = (first_party.check,)

HOUSE_CHECKS = (one_version.check, ownership.check, closure.check, manifest.check)
