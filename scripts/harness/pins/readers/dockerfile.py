"""Dockerfiles: ARG scope as Docker has it, images, labels, and what RUN installs."""

from __future__ import annotations

import json
import re

from harness.pins import shell
from harness.pins.readers import common, docker_syntax, labels, shell_claims, toolchain
from harness.pins.readers.docker_cache import cache_reason
from harness.pins.readers.docker_syntax import Instruction
from harness.pins.readers.git_checkouts import Checkouts
from harness.pins.text import UNRESOLVED, Traced
from harness.pins.tokens import (
    ArgDefault,
    ArgOutOfScope,
    CacheMount,
    Claim,
    Fault,
    Reading,
    repository_id,
)

NAME = "dockerfile"
# Set by the builder in every stage, without a declaration.
_PREDEFINED = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY", "PATH", "HOME"}
)


def read(reading: Reading) -> None:
    """Read one Dockerfile."""
    parsed = docker_syntax.parse(reading.document)
    for span in parsed.blank:
        reading.faults.append(
            Fault("empty-continuation", span, "an empty line inside a continued instruction",
                  "warning", "remove the line: newer builders refuse it")
        )  # fmt: skip
    if parsed.syntax is not None:
        common.image_claims(reading, parsed.syntax, "# syntax")
    _Builder(reading).run(parsed.instructions)


class Stage:
    """What a stage knows: its variables, its base, its user."""

    def __init__(self, name: str, base: Stage | None, image: str) -> None:
        self.name = name
        self.image: str = image if base is None else base.image
        self.args: dict[str, Traced | None] = dict(base.args) if base else {}
        self.env: dict[str, Traced] = dict(base.env) if base else {}
        self.user: str = base.user if base else ""


class _Builder:
    """Walks the instructions with the variables, stages and users that Docker would know."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.document = reading.document
        self.globals: dict[str, Traced | None] = {}
        self.stage_args: dict[str, Traced] = {}
        self.stages: list[Stage] = []
        self.reported: set[tuple[str, int]] = set()
        self.checkouts = Checkouts(reading, "RUN")

    @property
    def stage(self) -> Stage | None:
        return self.stages[-1] if self.stages else None

    def run(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            handler = getattr(self, f"do_{instruction.keyword.lower()}", None)
            if handler is not None:
                handler(instruction)
        self.checkouts.finish()

    # Variables

    def lookup(self, name: str) -> Traced | None:
        stage = self.stage
        if stage is None:
            return self.globals.get(name)
        if name in stage.env:
            return stage.env[name]
        return stage.args.get(name)

    def used(self, name: str, at: Traced) -> None:
        """Note the use of a global ARG that the stage does not declare."""
        stage = self.stage
        if stage is None or name not in self.globals or name in _PREDEFINED:
            return
        if name in stage.env or name in stage.args:
            return
        declared = self.globals[name]
        self.out_of_scope(name, at, declared)

    def out_of_scope(self, name: str, at: Traced, declared: Traced | None) -> None:
        key = (name, at.anchor)
        if key not in self.reported:
            self.reported.add(key)
            span = self.document.located(at).span
            where = self.document.located(declared).span if declared is not None else span
            self.reading.facts.append(ArgOutOfScope(name, span, where))

    def words(self, body: Traced) -> list[Traced]:
        return shell.words(body, self.lookup, self.used)

    # Instructions

    def do_arg(self, instruction: Instruction) -> None:
        for word in self.words(instruction.body):
            name, equals, _ = word.text.partition("=")
            value = word[len(name) + 1 :] if equals else None
            if value is not None and value.text:
                at = self.document.located(value)
                self.claim_value(name, value, "ARG")
                number = len(self.stages) - 1 if self.stages else None
                self.reading.facts.append(ArgDefault(name, at, number))
            stage = self.stage
            if stage is None:
                self.globals[name] = value
            else:
                stage.args[name] = value if value is not None else self.globals.get(name)
                if value is not None:
                    self.stage_args[name] = value

    def claim_value(self, name: str, value: Traced, how: str) -> None:
        at = self.document.located(value)
        self.reading.claims.append(Claim("build-arg", name, "value", at, how))
        if name == "RUSTUP_TOOLCHAIN":
            toolchain.add(self.reading, "rust", value, f"{how} RUSTUP_TOOLCHAIN")

    def do_from(self, instruction: Instruction) -> None:
        def lookup(name: str) -> Traced | None:
            return self.globals.get(name)

        def used(name: str, at: Traced) -> None:
            if name not in self.globals and name in self.stage_args:
                self.out_of_scope(name, at, self.stage_args[name])

        words = shell.words(instruction.body, lookup, used)
        if not words:
            return
        name = words[2].text if len(words) > 2 and words[1].text.lower() == "as" else ""
        platform = ""
        for flag, value in instruction.flags:
            if flag == "platform":
                platform = "".join(word.text for word in shell.words(value, lookup))
        base = self.find(words[0].text)
        if base is None:
            common.image_claims(self.reading, words[0], "FROM", platform)
        self.stages.append(Stage(name, base, words[0].text))
        self.checkouts.finish()

    def find(self, name: str) -> Stage | None:
        """Return the earlier stage of that name."""
        for stage in reversed(self.stages):
            if stage.name and stage.name.lower() == name.lower():
                return stage
        return None

    def copied_from(self, value: Traced, how: str) -> None:
        words = self.words(value)
        if not words or words[0].text.isdigit() or self.find(words[0].text) is not None:
            return
        common.image_claims(self.reading, words[0], how)

    def do_copy(self, instruction: Instruction) -> None:
        for flag, value in instruction.flags:
            if flag == "from":
                self.copied_from(value, "COPY --from")
        if not instruction.heredoc:
            self.words(instruction.body)

    def do_add(self, instruction: Instruction) -> None:
        self.do_copy(instruction)
        if instruction.heredoc:
            return
        for word in self.words(instruction.body)[:-1]:
            at = word.text.find("#")
            url = word if at < 0 else word[:at]
            if not re.match(r"(?:https?|ssh|git)://.*\.git$|git@", url.text):
                continue
            revision = None
            if at >= 0:
                tail = word[at + 1 :]
                colon = tail.text.find(":")
                revision = tail if colon < 0 else tail[:colon]
            name = repository_id(url.text)
            common.git_claims(self.reading, "repository", name, url, revision, "ADD git")

    def do_env(self, instruction: Instruction) -> None:
        stage = self.stage
        if stage is None:
            return
        for name, value in self.pairs(instruction):
            stage.env[name] = value
            self.claim_value(name, value, "ENV")

    def do_label(self, instruction: Instruction) -> None:
        for name, value in self.pairs(instruction):
            labels.read_label(self.reading, name, value, "LABEL")

    def pairs(self, instruction: Instruction) -> list[tuple[str, Traced]]:
        """`NAME=value …`, or the old `NAME value with spaces`."""
        words = self.words(instruction.body)
        if words and "=" not in words[0].text and len(words) > 1:
            return [(words[0].text, words[1])]
        pairs = []
        for word in words:
            name, equals, _ = word.text.partition("=")
            if equals:
                pairs.append((name, word[len(name) + 1 :]))
        return pairs

    def do_user(self, instruction: Instruction) -> None:
        words = self.words(instruction.body)
        if self.stage is not None and words:
            self.stage.user = words[0].text.partition(":")[0]

    def do_workdir(self, instruction: Instruction) -> None:
        self.checkouts.enter(self.words(instruction.body))

    def do_run(self, instruction: Instruction) -> None:
        mounts = [value for flag, value in instruction.flags if flag == "mount"]
        commands = self.commands(instruction)
        for mount in mounts:
            self.mount(mount, commands)
        shell_claims.read_commands(self.reading, commands, "RUN", self.checkouts)

    def commands(self, instruction: Instruction) -> list[shell.Command]:
        body = instruction.body
        if body.text.startswith("["):
            words = _exec_form(body)
            if words is not None:
                return shell.from_words(words, self.lookup, self.used)
        return shell.commands(body, self.lookup, self.used)

    def mount(self, mount: Traced, commands: list[shell.Command]) -> None:
        fields: dict[str, Traced] = {}
        for word in self.words(mount):
            at = 0
            for field in word.text.split(","):
                name, _, _ = field.partition("=")
                fields[name] = word[at + len(name) + 1 : at + len(field)]
                at += len(field) + 1
        kind = fields["type"].text if "type" in fields else "bind"
        if "from" in fields:
            self.copied_from(fields["from"], "RUN --mount from")
        target = fields.get("target") or fields.get("dst") or fields.get("destination")
        if kind != "cache" or target is None or self.stage is None:
            return
        if UNRESOLVED in target.text:
            return
        reason = cache_reason(
            target.text, self.stage.image, self.stage.user, self.stage.env, commands
        )
        span = self.document.located(target).span
        self.reading.facts.append(CacheMount(target.text, span, reason))


def _exec_form(body: Traced) -> list[Traced] | None:
    """Return the words of `["a", "b"]`, or None where it is no JSON list of strings."""
    try:
        values = json.loads(body.text)
    except ValueError:
        return None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return None
    found = []
    for match in re.finditer(r'"((?:[^"\\]|\\.)*)"', body.text):
        word = body.group(match, 1)
        if "\\" in word.text:
            word = Traced(json.loads(match[0]), [word.anchor] * len(json.loads(match[0])))
        found.append(word)
    return found
