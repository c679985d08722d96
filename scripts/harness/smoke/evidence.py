"""The evidence of a run: one JSON file for each result, a summary, and a JUnit file for CI.

Every file is written whole or not at all. The old evidence goes before anything is run and the
summary comes last: a folder without summary.json is that of a run that did not end.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from harness.errors import InputError
from harness.files import write_atomically
from harness.smoke.image_facts import ImageFacts
from harness.smoke.outcome import Outcome
from harness.smoke.result import Result
from harness.wheels.manifest import Manifest

SCHEMA = 1
SUMMARY = "summary.json"
JUNIT = "junit.xml"
MARKER = "CACHEDIR.TAG"
MARKER_TEXT = """Signature: 8a477f597d28d172789f06886806bc55
# Made by `harness smoke`, which replaces the whole folder.
"""
# JUnit readers choke on control characters, and XML 1.0 forbids them.
PRINTABLE = {code: "�" for code in range(32) if code not in (9, 10, 13)}


@dataclass(frozen=True)
class Evidence:
    """Where the evidence goes, and what every piece of it says about the things under test.

    `images` and `repeats` are by lane: the image that it runs, the command that repeats it.
    """

    folder: Path
    manifest: Manifest
    images: dict[str, ImageFacts]
    repeats: dict[str, str]

    def clear(self) -> None:
        """Remove the evidence of an earlier run; raises InputError where the folder is no such."""
        names = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
        if names and MARKER not in names:
            raise InputError(
                "the folder holds something else than evidence",
                where=str(self.folder),
                fix="name an empty or new folder with --evidence",
            )
        if names:
            shutil.rmtree(self.folder)
        write_atomically(self.folder / MARKER, MARKER_TEXT)

    def write(self, result: Result) -> None:
        """Write the evidence of one result: LANE/CASE.json."""
        path = self.folder / _safe(result.lane) / f"{_safe(result.case)}.json"
        write_atomically(path, _text(self.describe(result)))

    def describe(self, result: Result) -> dict[str, Any]:
        """Return the evidence of one result."""
        image = self.images.get(result.lane)
        return {
            "schema": SCHEMA,
            "case": result.case,
            "lane": result.lane,
            "title": result.title,
            "verdict": result.verdict,
            "problems": list(result.problems),
            "reason": result.reason,
            "seconds": round(result.seconds, 3),
            "runs": [_run(outcome) for outcome in result.outcomes],
            "agree": result.digests,
            "source": {
                "revision": self.manifest.revision,
                "tree": self.manifest.tree,
                "dirty": self.manifest.dirty,
            },
            "wheels": {entry.filename: entry.sha256 for entry in self.manifest.wheels},
            "image": {"name": image.name, "id": image.id, "size": image.size} if image else None,
            "repeat": self.repeat_command(result),
        }

    def repeat_command(self, result: Result) -> str:
        """Return the command that repeats this result alone; checks come with their lane."""
        command = self.repeats[result.lane]
        return f"{command} --case {shlex.quote(result.case)}" if result.is_case else command

    def finish(self, results: Sequence[Result], seconds: float) -> dict[str, Any]:
        """Write the JUnit file and the summary; return the summary."""
        counts = Counter(result.verdict for result in results)
        summary = {
            "schema": SCHEMA,
            "passed": counts["passed"],
            "failed": counts["failed"],
            "not-run": counts["not-run"],
            "seconds": round(seconds, 3),
            "source": {
                "revision": self.manifest.revision,
                "tree": self.manifest.tree,
                "dirty": self.manifest.dirty,
            },
            "builder": self.manifest.builder,
            "wheels": {entry.filename: entry.sha256 for entry in self.manifest.wheels},
            "images": {
                lane: {"id": facts.id, "size": facts.size} for lane, facts in self.images.items()
            },
            "results": [
                {
                    "case": result.case,
                    "lane": result.lane,
                    "verdict": result.verdict,
                    "seconds": round(result.seconds, 3),
                    "problems": list(result.problems),
                    "reason": result.reason,
                    "repeat": self.repeat_command(result),
                }
                for result in results
            ],
        }
        write_atomically(self.folder / JUNIT, _junit(results))
        write_atomically(self.folder / SUMMARY, _text(summary))
        return summary


def _run(outcome: Outcome) -> dict[str, Any]:
    return {
        "command": outcome.command_line,
        "exit_code": outcome.exit_code,
        "timed_out": outcome.timed_out,
        "seconds": round(outcome.seconds, 3),
        "stdout_sha256": hashlib.sha256(outcome.stdout).hexdigest(),
        "stdout_bytes": len(outcome.stdout),
        "stderr_tail": outcome.stderr[-2000:].decode("utf-8", "replace"),
        "files": {
            name: hashlib.sha256(data).hexdigest() for name, data in sorted(outcome.files.items())
        },
    }


def _junit(results: Iterable[Result]) -> str:
    root = ElementTree.Element("testsuites", name="harness smoke")
    suites: dict[str, ElementTree.Element] = {}
    for result in results:
        suite = suites.get(result.lane)
        if suite is None:
            suite = ElementTree.SubElement(root, "testsuite", name=result.lane)
            suites[result.lane] = suite
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=result.lane,
            name=result.case,
            time=f"{result.seconds:.3f}",
        )
        if result.verdict == "failed":
            text = "\n".join(result.problems).translate(PRINTABLE)
            ElementTree.SubElement(case, "failure", message=text.split("\n")[0]).text = text
        elif result.verdict == "not-run":
            ElementTree.SubElement(case, "skipped", message=result.reason or "")
    for suite in suites.values():
        tags = Counter(child.tag for case in suite for child in case)
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(tags["failure"]))
        suite.set("skipped", str(tags["skipped"]))
    ElementTree.indent(root)
    # Written out: ElementTree would declare the locale's encoding, and the file is always UTF-8.
    declaration = '<?xml version="1.0" encoding="utf-8"?>\n'
    return declaration + ElementTree.tostring(root, encoding="unicode") + "\n"


def _safe(name: str) -> str:
    """Return a name that is one component of a path: replay-sim:cpu becomes replay-sim-cpu."""
    return "".join(char if char.isalnum() or char in "._-" else "-" for char in name)


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, sort_keys=True) + "\n"
