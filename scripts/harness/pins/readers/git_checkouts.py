"""Which revision a script checks out of which repository."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from harness.pins.readers import common
from harness.pins.text import Traced
from harness.pins.tokens import Reading, repository_id

# Options that take a value in the next word.
_VALUES = frozenset(
    {
        "-C", "-c", "--branch", "-b", "-B", "--depth", "--revision", "-o", "--origin", "--filter",
        "--reference", "-j", "--jobs", "--git-dir", "--work-tree",
    }
)  # fmt: skip
# What is no name of a revision of the remote repository.
_LOCAL = frozenset({"FETCH_HEAD", "HEAD", "--", ".", "ORIG_HEAD"})


@dataclass(eq=False)
class _Clone:
    folder: str
    url: Traced
    # The default branch counts only where nothing else is checked out.
    seen: bool = False
    fetched: Traced | None = None


class Checkouts:
    """Follows `git clone`, `cd` and `git checkout` through the scripts of one file system."""

    def __init__(self, reading: Reading, how: str) -> None:
        self.reading = reading
        self.how = how
        self.clones: list[_Clone] = []
        self.folder = ""

    def enter(self, words: list[Traced]) -> None:
        """Note a change of folder."""
        if words:
            self.folder = _base(words[0].text)

    def command(self, words: list[Traced]) -> None:
        """Read one git command."""
        arguments, options = _split(words[1:])
        if not arguments:
            return
        verb, rest = arguments[0].text, arguments[1:]
        if verb == "clone" and rest:
            self._clone(rest, options)
        elif verb == "remote" and len(rest) > 2 and rest[0].text in ("add", "set-url"):
            self.clones.append(_Clone(self.folder, rest[2], seen=True))
        elif verb == "fetch" and len(rest) > 1:
            if re.match(r"[a-z+]+://|git@", rest[0].text):
                self.clones.append(_Clone(self.folder, rest[0], seen=True))
            clone = self._meant(options)
            if clone is not None:
                clone.fetched = rest[1]
        elif verb in ("checkout", "reset", "switch") and rest:
            self._checkout(rest[-1], options)

    def _clone(self, rest: list[Traced], options: dict[str, Traced]) -> None:
        folder = _base(rest[1].text) if len(rest) > 1 else _base(rest[0].text).removesuffix(".git")
        clone = _Clone(folder, rest[0])
        self.clones.append(clone)
        for option in ("--branch", "-b", "--revision"):
            if option in options:
                self._add(clone, options[option])

    def _meant(self, options: dict[str, Traced]) -> _Clone | None:
        """Return the clone in the folder that a command works in, else the last one."""
        wanted = _base(options["-C"].text) if "-C" in options else self.folder
        named = [clone for clone in self.clones if clone.folder == wanted]
        return next(reversed(named or self.clones), None)

    def _checkout(self, text: Traced, options: dict[str, Traced]) -> None:
        clone = self._meant(options)
        if clone is None:
            return
        if text.text == "FETCH_HEAD" and clone.fetched is not None:
            text, clone.fetched = clone.fetched, None
        if text.text not in _LOCAL:
            clone.fetched = None
            self._add(clone, text)

    def _add(self, clone: _Clone, text: Traced | None) -> None:
        clone.seen = True
        name = repository_id(clone.url.text)
        how = f"{self.how} git"
        common.git_claims(self.reading, "repository", name, clone.url, text, how)

    def finish(self) -> None:
        """A clone that nothing checks out stays at the default branch."""
        for clone in self.clones:
            if not clone.seen or clone.fetched is not None:
                self._add(clone, clone.fetched)
        self.clones = []


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _split(words: list[Traced]) -> tuple[list[Traced], dict[str, Traced]]:
    """Separate arguments and options with their values."""
    arguments: list[Traced] = []
    options: dict[str, Traced] = {}
    skip = False
    for word, following in itertools.zip_longest(words, words[1:]):
        if skip:
            skip = False
        elif word.text == "--":
            break
        elif word.text.startswith("-"):
            name, _, value = word.text.partition("=")
            if value:
                options[name] = word[len(name) + 1 :]
            elif word.text in _VALUES and following is not None:
                options[word.text] = following
                skip = True
        else:
            arguments.append(word)
    return arguments, options
