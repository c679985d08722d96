"""pyproject.toml: project, extras, dependency groups, build system, uv, poetry."""

from __future__ import annotations

import re

from harness.pins import toml
from harness.pins.readers import common
from harness.pins.text import Located, Traced
from harness.pins.tokens import (
    Aspect,
    CargoDependency,
    Claim,
    Fault,
    Project,
    Reading,
    distribution_id,
    repository_id,
)

NAME = "pyproject"
_POETRY_EXACT = re.compile(r"={0,3}\s*v?\d[\w.+-]*")
_TARGET = re.compile(r"py(\d)(\d+)")


def read(reading: Reading) -> None:
    """Read one project file."""
    root = toml.parse(reading.document)
    project = root.table("project")
    _requirements(reading, project.get("dependencies"), "[project] dependencies")
    extras = project.table("optional-dependencies")
    for extra in extras:
        _requirements(reading, extras[extra], f"[project.optional-dependencies] {extra}")
    _groups(reading, root.table("dependency-groups"))
    _requirements(reading, root.table("build-system").get("requires"), "[build-system] requires")
    _uv(reading, root.table("tool").table("uv"))
    _environments(reading, root.table("tool"))
    _poetry(reading, root.table("tool").table("poetry"))
    _dynamic_files(reading, root)
    _python(reading, root)
    _project(reading, root)


def _requirements(reading: Reading, value: toml.Value | None, how: str) -> None:
    if not isinstance(value, toml.Array):
        return
    scope = f"{reading.document.path}#{how}"
    for item in value:
        if isinstance(item, Traced) and not common.requirement_claims(
            reading, item, how, scope=scope
        ):
            at = reading.document.located(item).span
            message = f"{item.text!r} is no requirement"
            reading.faults.append(Fault("malformed-requirement", at, message))


def _groups(reading: Reading, groups: toml.Table) -> None:
    normal = {distribution_id(name): name for name in groups}
    edges: dict[str, list[tuple[str, Traced]]] = {}
    for name in groups:
        _requirements(reading, groups[name], f"[dependency-groups] {name}")
        for table in groups.tables(name):
            included = table.string("include-group")
            if included is None:
                continue
            target = normal.get(distribution_id(included.text))
            if target is None:
                at = reading.document.located(included).span
                message = f"there is no dependency group {included.text!r}"
                reading.faults.append(Fault("missing-file", at, message))
            else:
                edges.setdefault(name, []).append((target, included))
    _cycles(reading, edges)


def _cycles(reading: Reading, edges: dict[str, list[tuple[str, Traced]]]) -> None:
    """Report every include that closes a circle."""
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        for target, at in edges.get(name, []):
            if target in (*path, name):
                circle = " -> ".join([*(*path, name)[(*path, name).index(target) :], target])
                span = reading.document.located(at).span
                reading.faults.append(
                    Fault("include-cycle", span, f"dependency groups include each other: {circle}")
                )
            elif target not in done:
                visit(target, (*path, name))
        done.add(name)

    for name in list(edges):
        if name not in done:
            visit(name, ())


def _uv(reading: Reading, uv: toml.Table) -> None:
    for key in ("constraint-dependencies", "override-dependencies", "dev-dependencies"):
        _requirements(reading, uv.get(key), f"[tool.uv] {key}")
    wanted = uv.string("required-version")
    if wanted is not None:
        exact = re.fullmatch(r"(?:==)?\s*(\d[\w.]*)", wanted.text)
        at = reading.document.located(wanted.group(exact, 1) if exact else wanted)
        aspect: Aspect = "exact" if exact else "range"
        how = "[tool.uv] required-version"
        reading.claims.append(Claim("distribution", "uv", aspect, at, how, "pep440"))
    sources = uv.table("sources")
    for key, value in sources.items():
        entries = value if isinstance(value, toml.Array) else [value]
        for entry in entries:
            if isinstance(entry, toml.Table):
                _source(reading, key, sources.keys_at[key], entry, "[tool.uv.sources]")


def _environments(reading: Reading, tools: toml.Table) -> None:
    """Development dependencies of hatch and pdm."""
    environments = tools.table("hatch").table("envs")
    for name in environments:
        for key in ("dependencies", "extra-dependencies"):
            value = environments.table(name).get(key)
            _requirements(reading, value, f"[tool.hatch.envs.{name}] {key}")
    groups = tools.table("pdm").table("dev-dependencies")
    for name in groups:
        _requirements(reading, groups[name], f"[tool.pdm.dev-dependencies] {name}")


def _source(
    reading: Reading, key: str, at: Traced, table: toml.Table, label: str, scope: str | None = None
) -> None:
    """Read the git and path forms that uv and poetry share."""
    name = distribution_id(key)
    how = f"{label} {key}"
    git = table.string("git")
    if git is not None:
        found = [(ref, table.string(ref)) for ref in ("rev", "branch", "tag")]
        references = [(ref, text) for ref, text in found if text is not None]
        for ref, text in references:
            common.git_claims(reading, "distribution", name, git, text, how, ref=ref, scope=scope)
        if not references:
            common.git_claims(reading, "distribution", name, git, None, how, scope=scope)
        if len(references) > 1:
            span = reading.document.located(references[1][1]).span
            names = " and ".join(ref for ref, _ in references)
            reading.faults.append(
                Fault("ambiguous-source", span, f"{key} has {names}", fix="keep rev alone")
            )
        locate = reading.document.located
        reading.facts.append(
            CargoDependency(
                name, label, locate(at), git=locate(git), repository=repository_id(git.text),
                references=tuple((ref, locate(text)) for ref, text in references),
            )
        )  # fmt: skip
    path = table.string("path")
    if path is not None and not path.text.endswith((".whl", ".gz")):
        reading.claims.append(
            Claim("distribution", name, "name", reading.document.located(at), how)
        )


def _poetry(reading: Reading, poetry: toml.Table) -> None:
    tables = [("[tool.poetry.dependencies]", poetry.table("dependencies"))]
    tables.append(("[tool.poetry.dev-dependencies]", poetry.table("dev-dependencies")))
    groups = poetry.table("group")
    for group in groups:
        label = f"[tool.poetry.group.{group}.dependencies]"
        tables.append((label, groups.table(group).table("dependencies")))
    for label, table in tables:
        for key, value in table.items():
            entries = list(value) if isinstance(value, toml.Array) else [value]
            for entry in entries:
                _poetry_entry(reading, label, key, table.keys_at[key], entry)


def _poetry_entry(reading: Reading, label: str, key: str, at: Traced, value: toml.Value) -> None:
    wanted = value if isinstance(value, Traced) else None
    if isinstance(value, toml.Table):
        wanted = value.string("version")
        _source(reading, key, at, value, label, f"{reading.document.path}#{label}")
    if wanted is None:
        return
    how = f"{label} {key}"
    if distribution_id(key) == "python":
        located = reading.document.located(wanted)
        reading.claims.append(Claim("toolchain", "python", "range", located, how, "pep440"))
        return
    exact = _POETRY_EXACT.fullmatch(wanted.text.strip()) if "*" not in wanted.text else None
    body = wanted
    if exact is not None:
        body = wanted.strip().strip("=").strip()
    reading.claims.append(
        Claim(
            "distribution", distribution_id(key), "exact" if exact else "range",
            reading.document.located(body), how, "pep440",
            scope=f"{reading.document.path}#{label}",
        )
    )  # fmt: skip


def _dynamic_files(reading: Reading, root: toml.Table) -> None:
    """Files that setuptools takes dependencies from."""
    dynamic = root.table("tool").table("setuptools").table("dynamic")
    tables = [dynamic.table("dependencies")]
    extras = dynamic.table("optional-dependencies")
    tables += [extras.table(extra) for extra in extras]
    for table in tables:
        single = table.string("file")
        for target in [single] if single is not None else table.strings("file"):
            common.refer(reading, target, "dependency file")


def _python(reading: Reading, root: toml.Table) -> None:
    locate = reading.document.located
    wanted = root.table("project").string("requires-python")
    if wanted is not None:
        how = "requires-python"
        reading.claims.append(Claim("toolchain", "python", "range", locate(wanted), how, "pep440"))
    tools = root.table("tool")
    places = [
        ("[tool.mypy] python_version", tools.table("mypy").string("python_version")),
        ("[tool.pyright] pythonVersion", tools.table("pyright").string("pythonVersion")),
        ("[tool.ruff] target-version", tools.table("ruff").string("target-version")),
    ]
    places += [
        ("[tool.black] target-version", text)
        for text in tools.table("black").strings("target-version")
    ]
    for how, text in places:
        if text is None:
            continue
        at = locate(text)
        if match := _TARGET.fullmatch(text.text):
            at = Located(f"{match[1]}.{match[2]}", at.span, exact=False)
        reading.claims.append(Claim("toolchain", "python", "floor", at, how))


def _project(reading: Reading, root: toml.Table) -> None:
    project, poetry = root.table("project"), root.table("tool").table("poetry")
    name = project.string("name") or poetry.string("name")
    backend = root.table("build-system").string("build-backend")
    if name is None:
        return
    version = project.string("version") or poetry.string("version")
    locate = reading.document.located
    located = locate(version) if version is not None else None
    wanted = project.string("requires-python")
    manifest = root.table("tool").table("maturin").string("manifest-path")
    reading.facts.append(
        Project(
            name=distribution_id(name.text),
            at=locate(name),
            version=located,
            dynamic=frozenset(item.text for item in project.strings("dynamic")),
            backend=backend.text if backend is not None else "",
            requires_python=locate(wanted) if wanted is not None else None,
            manifest=manifest.text if manifest is not None else None,
        )
    )
    if located is not None:
        reading.claims.append(
            Claim(
                "distribution", distribution_id(name.text), "exact", located,
                "[project] version", "pep440",
            )
        )  # fmt: skip
