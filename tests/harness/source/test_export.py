"""The pinned revision: what is exported, what is refused, what survives a rewrite of history."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import InputError
from harness.source import check, pin
from harness.source.export import WORKTREE, export, resolve
from harness.source.git import Repository

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

ZERO = "0" * 40
PINS = """\
schema = 1

[source]  # what is built
git = "."
revision = "{revision}" # moved by bump
tree = "{tree}"
paths = ["Cargo.toml", "Cargo.lock", "crates"]
"""
MANIFEST = '[workspace.package]\nversion = "1.2.3"\n'
LOCK = """\
[[package]]
name = "a"
version = "1.2.3"

[[package]]
name = "b"
version = "1.2.3"
source = "registry+somewhere"
"""


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.stdout.strip()


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def load(root: Path) -> pin.SourcePin:
    return pin.load(root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose pin names its first commit."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    write(root, "Cargo.toml", MANIFEST)
    write(root, "Cargo.lock", LOCK)
    write(root, "crates/a/lib.rs", "one\n")
    write(root, "README.md", "not exported\n")
    write(root, "deps/pins.toml", PINS.format(revision=ZERO, tree=ZERO))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    check.bump(load(root))
    git(root, "commit", "-qam", "pin")
    return root


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_exports_exactly_the_pinned_paths(root: Path, tmp_path: Path) -> None:
    source = resolve(load(root))
    export(source, tmp_path / "out")
    assert files(tmp_path / "out") == {
        "Cargo.toml": MANIFEST,
        "Cargo.lock": LOCK,
        "crates/a/lib.rs": "one\n",
    }


def test_local_edits_do_not_leak_into_a_pinned_build(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, "crates/a/lib.rs", "edited\n")
    export(resolve(load(root)), tmp_path / "out")
    assert files(tmp_path / "out")["crates/a/lib.rs"] == "one\n"
    assert "crates/a/lib.rs" in capsys.readouterr().err


def test_the_work_tree_is_marked_dirty_everywhere(root: Path, tmp_path: Path) -> None:
    write(root, "crates/a/lib.rs", "edited\n")
    write(root, "crates/a/new.rs", "new\n")
    source = resolve(load(root), WORKTREE)
    export(source, tmp_path / "out")
    exported = files(tmp_path / "out")
    assert source.revision == f"{git(root, 'rev-parse', 'HEAD')}+dirty"
    assert source.dirty
    assert exported["crates/a/lib.rs"] == "edited\n"
    assert exported["crates/a/new.rs"] == "new\n"
    assert '"1.2.3+dirty"' in exported["Cargo.toml"]
    # Only the workspace's own entry: the other has a source.
    assert exported["Cargo.lock"] == LOCK.replace('"1.2.3"', '"1.2.3+dirty"', 1)


def test_the_work_tree_id_follows_the_content(root: Path, tmp_path: Path) -> None:
    write(root, "crates/a/lib.rs", "edited\n")
    first = resolve(load(root), WORKTREE).tree
    assert resolve(load(root), WORKTREE).tree == first
    write(root, "crates/a/lib.rs", "edited again\n")
    assert resolve(load(root), WORKTREE).tree != first


def test_a_squashed_history_is_found_by_content(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned = load(root)
    git(root, "checkout", "-q", "--orphan", "squashed")
    git(root, "commit", "-qm", "everything in one")
    git(root, "branch", "-D", "main")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")
    source = resolve(pinned)
    assert source.revision == git(root, "rev-parse", "HEAD") != pinned.revision
    assert "same content" in capsys.readouterr().err


def test_a_shallow_clone_names_the_fetch_that_helps(root: Path, tmp_path: Path) -> None:
    # The pinned content must not be at the tip.
    write(root, "crates/a/lib.rs", "two\n")
    git(root, "commit", "-qam", "later")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", str(shallow))
    with pytest.raises(InputError, match="not in this clone") as caught:
        resolve(load(shallow))
    assert caught.value.fix == "git fetch --unshallow"
    assert caught.value.where is not None
    assert caught.value.where.endswith("pins.toml:5")


def test_an_unknown_revision_of_a_whole_clone(root: Path, tmp_path: Path) -> None:
    load(root).move("1" * 40, "2" * 64)
    with pytest.raises(InputError, match="not in this clone") as caught:
        resolve(load(root))
    assert "unshallow" not in str(caught.value.fix)


def test_a_tree_that_is_not_the_revisions_is_refused(root: Path, tmp_path: Path) -> None:
    pinned = load(root)
    pinned.move(pinned.revision, "2" * 64)
    with pytest.raises(InputError, match=r"source\.tree") as caught:
        resolve(load(root))
    assert str(caught.value.where).endswith("pins.toml:6")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("revision = ", "revision = 'abc' #", "full commit id"),
        ("[source]", "[sauce]", "'sauce'"),
        ('git = "."', 'got = "."', "got"),
        ("schema = 1", "schema = ", r"pins\.toml:1"),
    ],
)
def test_a_malformed_pin_is_refused(root: Path, old: str, new: str, says: str) -> None:
    file = root / "deps" / "pins.toml"
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load(root)
    assert re.search(says, str(caught.value))


def test_bump_changes_two_values_and_no_other_byte(root: Path, tmp_path: Path) -> None:
    before = (root / "deps" / "pins.toml").read_text()
    old = load(root)
    write(root, "crates/a/lib.rs", "two\n")
    git(root, "commit", "-qam", "second")
    commit, tree = check.bump(old)
    after = (root / "deps" / "pins.toml").read_text()
    assert after == before.replace(old.revision, commit).replace(old.tree, tree)
    assert commit == git(root, "rev-parse", "HEAD")


def test_bump_refuses_uncommitted_sources(root: Path, tmp_path: Path) -> None:
    write(root, "crates/a/lib.rs", "edited\n")
    with pytest.raises(InputError, match="uncommitted"):
        check.bump(load(root))
    # An edit outside the exported paths is nobody's business here.
    git(root, "checkout", "-q", "crates")
    write(root, "README.md", "edited\n")
    check.bump(load(root))


def test_a_named_path_that_is_not_there_is_refused(root: Path) -> None:
    file = root / "deps" / "pins.toml"
    file.write_text(file.read_text().replace('"crates"]', '"cratez"]'))
    with pytest.raises(InputError, match="'cratez'"):
        check.bump(load(root))


def test_the_users_git_settings_change_no_byte(root: Path, tmp_path: Path) -> None:
    git(root, "config", "core.autocrlf", "true")
    git(root, "config", "tar.umask", "0077")
    export(resolve(load(root)), tmp_path / "out")
    assert (tmp_path / "out" / "crates/a/lib.rs").read_bytes() == b"one\n"
    assert (tmp_path / "out" / "crates/a/lib.rs").stat().st_mode & 0o777 == 0o644


def test_a_renamed_file_is_listed_by_its_names(root: Path) -> None:
    git(root, "mv", "crates/a/lib.rs", "crates/a/other.rs")
    assert sorted(Repository(root).changes(["crates"])) == ["crates/a/lib.rs", "crates/a/other.rs"]


def test_drift_lists_the_files(root: Path, tmp_path: Path) -> None:
    assert check.drift(load(root)) is None
    write(root, "crates/a/lib.rs", "two\n")
    write(root, "README.md", "not exported, so no drift\n")
    git(root, "commit", "-qam", "second")
    found = check.drift(load(root))
    assert found is not None
    assert found.files == ("crates/a/lib.rs",)


def test_another_repository_by_url(root: Path, tmp_path: Path) -> None:
    host = tmp_path / "host"
    write(
        host,
        "deps/pins.toml",
        (root / "deps" / "pins.toml").read_text().replace('git = "."', f'git = "file://{root}"'),
    )
    source = resolve(load(host))
    export(source, tmp_path / "out")
    assert files(tmp_path / "out")["crates/a/lib.rs"] == "one\n"
    with pytest.raises(InputError, match="worktree"):
        resolve(load(host), WORKTREE)
    # A pin on a URL moves to a commit that it does not have yet, by name.
    write(root, "crates/a/lib.rs", "two\n")
    git(root, "commit", "-qam", "second")
    commit, _ = check.bump(load(host), git(root, "rev-parse", "HEAD"))
    assert load(host).revision == commit
    with pytest.raises(InputError, match="name the revision"):
        check.bump(load(host))


def test_a_cache_that_a_killed_run_left_empty_is_not_taken_for_the_checkout(root: Path) -> None:
    file = root / "deps" / "pins.toml"
    file.write_text(file.read_text().replace('git = "."', f'git = "file://{root}"'))
    folder = load(root).cache / hashlib.sha256(f"file://{root}".encode()).hexdigest()[:16]
    folder.mkdir(parents=True)
    before = git(root, "rev-parse", "main")
    resolve(load(root))
    assert git(root, "rev-parse", "main") == before
    assert (folder / "objects").is_dir()


def test_the_command_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.delenv("SOURCE", raising=False)
    assert main(["source", "check"]) == 0
    write(root, "crates/a/lib.rs", "two\n")
    git(root, "commit", "-qam", "second")
    assert main(["source", "check"]) == 1
    shown = capsys.readouterr().out
    assert "deps/pins.toml:5: error" in shown
    assert "crates/a/lib.rs" in shown
    assert main(["source", "bump"]) == 0
    assert main(["source", "check"]) == 0
    assert main(["source", "bump", "no-such-revision"]) == 2
    assert main(["source", "export", str(root / "crates")]) == 2
