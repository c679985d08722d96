"""`harness images`: wheels and images from the pinned revision."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

from harness.errors import ExitCode
from harness.paths import find_root

if TYPE_CHECKING:
    from harness.images.pipeline import Result

ENVIRONMENT = """\
environment:
  SOURCE=worktree         build the edited work tree and mark every artefact +dirty
  BASE=auto|registry|debian, BASE_REGISTRY=HOST[:PORT][/PREFIX]
                          where base images come from (default: Debian packages)
  BASE_LOCK=strict        stop when Debian's archive no longer has a locked package
  DEBIAN_MIRROR=URL       the Debian mirror, on hosts whose apt sources are not Debian's
  ENGINE=external         never install or start a container engine
  HARNESS_MIN_FREE_GIB=N  free disk space that a build asks for (default: 6)
"""


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this group."""
    group = subparsers.add_parser(
        "images",
        help="build the wheels and the images",
        epilog=ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)

    build = commands.add_parser("build", help="wheels, wheelhouse and images")
    build.add_argument(
        "--image",
        action="append",
        choices=("cpu", "gpu"),
        default=None,
        help="only this image; may be repeated (default: both)",
    )
    build.add_argument("--wheels-only", action="store_true", help="stop after the wheelhouse")
    build.add_argument("--format", choices=("table", "json"), default="table")
    build.set_defaults(run=_build)

    check = commands.add_parser(
        "rust-check", help="format, lint and test the crates in the builder"
    )
    check.set_defaults(run=_rust_check)

    lock = commands.add_parser("lock-bases", help="record the Debian packages of the base images")
    lock.set_defaults(run=_lock_bases)

    publish = commands.add_parser(
        "push",
        help="push the built images and pull them by digest: the same images",
        description="Push the images of the last build, pull each by the digest that the registry "
        "gave, and compare. Prints the digests. Credentials are those of `docker login`.",
    )
    publish.add_argument("registry", metavar="REGISTRY", help="HOST[:PORT][/PREFIX]")
    publish.add_argument(
        "--image", action="append", default=[], metavar="NAME", help="cpu or gpu (default: both)"
    )
    publish.add_argument("--format", choices=("text", "json"), default="text")
    publish.set_defaults(run=_push)

    push = commands.add_parser("push-bases", help="publish the bases and print the pins for them")
    push.add_argument("registry", help="HOST[:PORT][/PREFIX]")
    push.set_defaults(run=_push_bases)
    for command in (build, check):
        command.add_argument(
            "--source",
            default=os.environ.get("SOURCE", "pinned"),
            help="pinned or worktree (default: $SOURCE, or pinned)",
        )


def _build(arguments: argparse.Namespace) -> int:
    from harness.images.pipeline import IMAGES, make
    from harness.workspace import Workspace

    images = () if arguments.wheels_only else tuple(arguments.image or IMAGES)
    result = make(Workspace(find_root()), arguments.source, images)
    if arguments.format == "json":
        print(json.dumps(_document(result), indent=2, sort_keys=True))
    else:
        _print_table(result)
    return ExitCode.OK


def _document(result: Result) -> dict[str, object]:
    return {
        "revision": result.source.revision,
        "tree": result.source.tree,
        "version": result.version,
        "wheelhouse": str(result.wheelhouse),
        "images": [
            {"name": i.name, "tags": list(i.tags), "id": i.image_id, "size": i.size}
            for i in result.images
        ],
        "seconds": {name: round(value, 1) for name, value in result.seconds.items()},
    }


def _print_table(result: Result) -> None:
    from rich.table import Table

    from harness.console import out

    table = Table(title=f"replay-sim {result.version}")
    for column in ("image", "size", "id", "revision", "seconds"):
        table.add_column(column, justify="right" if column in ("size", "seconds") else "left")
    for image in result.images:
        table.add_row(
            image.tags[0],
            f"{image.size / 1e6:.1f} MB",
            image.image_id.removeprefix("sha256:")[:12],
            result.source.revision[:12] + ("+dirty" if result.source.dirty else ""),
            f"{result.seconds[image.name]:.1f}",
        )
    out.print(table)
    spent = ", ".join(f"{name} {value:.1f}" for name, value in result.seconds.items())
    out.print(f"seconds: {spent}; {sum(result.seconds.values()):.1f} in all", markup=False)
    for wheel in sorted(result.wheelhouse.glob("*.whl")):
        out.print(f"wheel: {wheel.name} ({wheel.stat().st_size / 1e3:.0f} kB)", markup=False)


def _rust_check(arguments: argparse.Namespace) -> int:
    from harness.images.pipeline import rust_check
    from harness.workspace import Workspace

    rust_check(Workspace(find_root()), arguments.source)
    print("crates: formatted, no lints, tests passed")
    return ExitCode.OK


def _lock_bases(arguments: argparse.Namespace) -> int:
    from harness.bases.choose import lock
    from harness.workspace import Workspace

    workspace = Workspace(find_root())
    with workspace.locked():
        for file in lock(workspace):
            print(f"wrote {file.relative_to(workspace.root)}")
    return ExitCode.OK


def _push(arguments: argparse.Namespace) -> int:
    from harness.engine import find
    from harness.images.push import publish
    from harness.workspace import Workspace

    document = publish(Workspace(find_root()), find(), arguments.registry, arguments.image)
    if arguments.format == "json":
        print(json.dumps(document, indent=2, sort_keys=True))
    else:
        for image in document["images"]:
            print(f"{image['tag']}\n  {image['digest']}\n  id {image['image_id']}")
    return ExitCode.OK


def _push_bases(arguments: argparse.Namespace) -> int:
    from harness.bases.choose import provide
    from harness.bases.registry import push
    from harness.engine import ensure
    from harness.workspace import Workspace

    workspace = Workspace(find_root())
    engine = ensure()
    with workspace.locked():
        for name, base in provide(workspace, engine).items():
            digest = push(engine, base.reference, arguments.registry, name)
            print(f'[[pin]]\nname = "base-{name}"\nimages = ["base-{name}"]\ndigest = "{digest}"\n')
    return ExitCode.OK
