"""`harness pins`: one source of pins, every place checked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ExitCode, InputError

if TYPE_CHECKING:
    from harness.pins.fix import Plan
    from harness.pins.repository import Repository

FORMATS = ("text", "json", "github", "sarif")


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    group = subparsers.add_parser("pins", help="compare, align and move the pins of a repository")
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)

    check = _add(commands, "check", _check, "compare every place with its pin")
    check.add_argument("--format", choices=FORMATS, default="text")

    sync = _add(commands, "sync", _sync, "write the pinned value into every place that is off it")
    _dry_run(sync)

    bump = _add(commands, "bump", _bump, "move a pin, and every place with it")
    bump.add_argument("name", metavar="NAME", help="the pin")
    bump.add_argument(
        "values", metavar="VALUE", nargs="+", help="a version, a full commit id or a digest"
    )
    bump.add_argument("--no-lock", action="store_true", help="leave hash-locked files for later")
    _dry_run(bump)

    stamp = _add(commands, "stamp", _stamp, "give our own packages a development version")
    stamp.add_argument("--dev", metavar="YYYYMMDD", required=True, help="the date")
    _dry_run(stamp)

    unstamp = _add(commands, "unstamp", _stamp, "take the development version away again")
    unstamp.set_defaults(dev=None)
    _dry_run(unstamp)

    explain = _add(commands, "explain", _explain, "show every place about one thing")
    explain.add_argument("name", metavar="NAME", help="a pin, crate, distribution, image, action")

    _add(commands, "discover", _discover, "propose a pins file for a repository that has none")

    lock = _add(commands, "lock", _lock, "compile deps/*.in and refresh Cargo.lock (network)")
    lock.add_argument("--upgrade", action="store_true", help="take the newest versions allowed")
    lock.add_argument(
        "--record", action="store_true", help="only write down what is locked now (offline)"
    )


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: object,
    text: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("--root", type=Path, help="the repository (default: the checkout here)")
    command.add_argument("--pins", type=Path, help="the pins file (default: deps/pins.toml)")
    command.set_defaults(run=run)
    return command


def _dry_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dry-run", action="store_true", help="print a diff, write nothing")


def _root(arguments: argparse.Namespace) -> Path:
    from harness.paths import find_root

    if arguments.root is None:
        return Path.cwd() if arguments.pins is not None else find_root()
    root: Path = arguments.root
    if not root.is_dir():
        raise InputError("there is no such folder", where=str(root), fix="name a repository")
    return root.resolve()


def _repository(arguments: argparse.Namespace) -> Repository:
    from harness.pins import config
    from harness.pins.repository import Repository

    root = _root(arguments)
    return Repository(root, config.load(root, arguments.pins))


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def _check(arguments: argparse.Namespace) -> int:
    from importlib import import_module

    from harness.pins.check import check

    report = check(_repository(arguments))
    _print(import_module(f"harness.pins.formats.{arguments.format}").render(report))
    return ExitCode.OK if report.clean else ExitCode.FINDINGS


def _sync(arguments: argparse.Namespace) -> int:
    from harness.pins import fix

    _recover(arguments)
    repository = _repository(arguments)
    return _write(arguments, repository, fix.plan(repository))


def _bump(arguments: argparse.Namespace) -> int:
    from harness.pins import bump, fix

    _recover(arguments)
    repository = _repository(arguments)
    edits = bump.edits(repository, arguments.name, arguments.values)
    plan = fix.plan(repository, edits)
    locked = [finding for finding in plan.refused if finding.relock]
    if locked and not arguments.no_lock and not arguments.dry_run:
        plan.refused = [finding for finding in plan.refused if finding not in locked]
        code = _write(arguments, repository, plan)
        _lock_now(arguments)
        return code
    return _write(arguments, repository, plan)


def _stamp(arguments: argparse.Namespace) -> int:
    from harness.pins import stamp
    from harness.pins.fix import Plan, apply

    _recover(arguments)
    repository = _repository(arguments)
    plan = Plan()
    apply(repository, stamp.edits(repository, arguments.dev), plan)
    return _write(arguments, repository, plan)


def _write(arguments: argparse.Namespace, repository: Repository, plan: Plan) -> int:
    """Write a plan (or show it), and name what it leaves undecided."""
    from harness.pins import fix, transaction

    if arguments.dry_run:
        _print(fix.unified_diff(plan))
    else:
        changed = plan.changed()
        if changed:
            transaction.write_all(repository.root, plan.before, changed)
        for edit, line, old in plan.edits:
            _print(f"{edit.file}:{line}: {old} -> {edit.text}\n")
    for finding in plan.refused:
        place = f"{finding.file}:{finding.line}"
        sys.stderr.write(f"{place}: refused: {finding.message} ({finding.refusal})\n")
        sys.stderr.write(f"    fix: {finding.fix}\n")
    return ExitCode.FINDINGS if plan.refused else ExitCode.OK


def _recover(arguments: argparse.Namespace) -> None:
    from harness.console import warn
    from harness.pins import transaction

    for path in transaction.recover(_root(arguments)):
        warn(f"a former run was interrupted: {path} is back as it was")


def _explain(arguments: argparse.Namespace) -> int:
    from harness.pins.explain import explain

    _print(explain(_repository(arguments), arguments.name))
    return ExitCode.OK


def _discover(arguments: argparse.Namespace) -> int:
    from harness.pins.discover import discover

    root = arguments.root or Path.cwd()
    if not root.is_dir():
        raise InputError("there is no such folder", where=str(root), fix="name a repository")
    _print(discover(root.resolve()))
    return ExitCode.OK


def _lock(arguments: argparse.Namespace) -> int:
    from harness.pins.lock import write_record

    if arguments.record:
        write_record(_repository(arguments), new=True)
    else:
        _lock_now(arguments, upgrade=arguments.upgrade)
    return ExitCode.OK


def _lock_now(arguments: argparse.Namespace, *, upgrade: bool = False) -> None:
    from harness.pins.lock import lock, write_record

    lock(_repository(arguments), upgrade=upgrade, cargo=_cargo_in_builder)
    write_record(_repository(arguments))


def _cargo_in_builder(repository: Repository, path: str, words: tuple[str, ...]) -> None:
    """Where the host has no cargo, the builder of the harness's own checkout has one."""
    from harness.errors import ToolError
    from harness.images.cargo import update
    from harness.paths import find_root
    from harness.workspace import Workspace

    try:
        checkout = find_root(Path(__file__).parent)
    except InputError as error:
        fix = "install a Rust toolchain"
        raise ToolError(f"cargo is not installed, and {path} needs it", fix=fix) from error
    update(Workspace(checkout), repository, path, words)
