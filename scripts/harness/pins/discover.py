"""`harness pins discover`: propose a pins file for a repository that has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.pins import versions
from harness.pins.compare import FULL
from harness.pins.config import DEFAULT_FILES, DIGEST, Pins, Policy, load
from harness.pins.repository import Repository
from harness.pins.text import UNRESOLVED, Document
from harness.pins.tokens import Claim

Table = dict[str, object]


def discover(root: Path) -> str:
    """Return the text of a pins file: what the repository says in more than one place, or moves.

    Where places disagree, the most frequent value is taken; the check then shows the others. What
    the policy of a present pins file excludes is left out.
    """
    known = any((root / name).is_file() for name in DEFAULT_FILES)
    policy = load(root).policy if known else Policy()
    repository = Repository(root, Pins(Document("deps/pins.toml", b""), policy=policy))
    claims = [c for _, c in repository.claims() if c.text and UNRESOLVED not in c.text]
    files = {id(c): d.path for d, c in repository.claims()}
    tables = [
        *_toolchains(claims),
        *_repositories(claims),
        *_images(claims),
        *_actions(claims),
        *_packages(claims, files),
    ]
    head = "# Proposed from what the repository says: read it, correct it, commit it.\nschema = 1\n"
    return head + "".join(_render(table) for table in _unique(tables))


def _toolchains(claims: list[Claim]) -> Iterator[Table]:
    for name in ("rust", "python"):
        images = _texts(claims, "image", name, "tag")
        version = _most(_texts(claims, "toolchain", name, "tag")) or _most(images)
        if version is not None:
            table: Table = {"name": name, "version": version, "toolchain": name}
            yield table | ({"images": [name]} if images else {})


def _repositories(claims: list[Claim]) -> Iterator[Table]:
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.repository and claim.aspect == "revision" and claim.kind != "action":
            groups.setdefault(claim.repository, []).append(claim)
    for repository, group in groups.items():
        full = [c.text for c in group if FULL.fullmatch(c.text)]
        revision = Counter(full).most_common(1)
        if not revision:
            continue
        crates = sorted({c.name for c in group if c.kind == "crate"})
        distributions = sorted({c.name for c in group if c.kind == "distribution"})
        arguments = {c.name for c in claims if c.kind == "build-arg" and c.text == revision[0][0]}
        url = next((c.text for c in claims if c.aspect == "url" and c.repository == repository), "")
        yield {
            "name": repository.rpartition("/")[2],
            "revision": revision[0][0],
            "repository": url.removeprefix("git+") or f"https://{repository}",
            "crates": crates,
            "distributions": distributions,
            "build-args": sorted(arguments),
        }


def _images(claims: list[Claim]) -> Iterator[Table]:
    for name in sorted({c.name for c in claims if c.kind == "image"} - {"rust", "python"}):
        version = _most(_texts(claims, "image", name, "tag"))
        digests = filter(DIGEST.fullmatch, _texts(claims, "image", name, "digest"))
        digest = Counter(digests).most_common(1)
        if version is not None or digest:
            table: Table = {"name": name.rpartition("/")[2], "images": [name]}
            table |= {"version": version} if version is not None else {}
            yield table | ({"digest": digest[0][0]} if digest else {})


def _actions(claims: list[Claim]) -> Iterator[Table]:
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.kind == "action" and FULL.fullmatch(claim.text):
            groups.setdefault(claim.name, []).append(claim)
    for name, group in groups.items():
        revision = Counter(c.text for c in group).most_common(1)[0][0]
        comments = [c.comment.text.removeprefix("v") for c in group if c.comment is not None]
        table: Table = {"name": f"{name.rpartition('/')[2]}-action", "revision": revision}
        version = _most(comments)
        table |= {"version": version} if version is not None else {}
        yield table | {"actions": [name]}


def _packages(claims: list[Claim], files: dict[int, str]) -> Iterator[Table]:
    """Crates and distributions that more than one file pins exactly."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        if claim.kind in ("crate", "distribution") and claim.aspect == "exact":
            groups.setdefault((claim.kind, claim.name), []).append(claim)
    for (kind, name), group in groups.items():
        written = [c for c in group if not c.derived]
        version = _most(c.text for c in written)
        if version is not None and written and len({files[id(c)] for c in group}) > 1:
            yield {"name": name, "version": version, f"{kind}s": [name]}


def _texts(claims: list[Claim], kind: str, name: str, aspect: str) -> list[str]:
    return [c.text for c in claims if (c.kind, c.name, c.aspect) == (kind, name, aspect)]


def _most(texts: Iterable[str]) -> str | None:
    counted = Counter(text for text in texts if versions.parse(text) is not None)
    return counted.most_common(1)[0][0] if counted else None


def _unique(tables: Iterable[Table]) -> Iterator[Table]:
    """Merge what one name says about crates and distributions; number the other namesakes."""
    seen: dict[str, Table] = {}
    for table in tables:
        name = str(table["name"])
        known = seen.get(name)
        if known is not None and known.get("version") == table.get("version"):
            known.update({key: value for key, value in table.items() if key not in known})
            continue
        number = 2
        while name in seen:
            name = f"{table['name']}-{number}"
            number += 1
        seen[name] = {**table, "name": name}
    yield from seen.values()


def _render(table: Table) -> str:
    lines = ["", "[[pin]]"]
    for key, value in table.items():
        if isinstance(value, list):
            if value:
                lines.append(f"{key} = [{', '.join(map(_quote, value))}]")
        else:
            lines.append(f"{key} = {_quote(str(value))}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
