"""What shell commands pin: pip and uv installs, git checkouts, cargo installs, rustup."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from harness.pins.readers import common, debian, toolchain
from harness.pins.readers.git_checkouts import Checkouts
from harness.pins.shell import Command
from harness.pins.text import UNRESOLVED, Traced
from harness.pins.tokens import (
    Claim,
    Override,
    Reading,
    crate_id,
    repository_id,
)

# Options that take a value in the next word.
_PIP_VALUES = frozenset(
    {
        "-r", "--requirement", "-c", "--constraint", "-i", "--index-url", "--extra-index-url",
        "-f", "--find-links", "-t", "--target", "--prefix", "--root", "--python", "-p",
        "--no-binary", "--only-binary", "--platform", "--python-version", "--abi", "--cache-dir",
        "--timeout", "--retries", "--trusted-host", "--progress-bar", "--report", "-d", "--dest",
        "-w", "--wheel-dir", "--config-settings", "-C", "--global-option", "--index", "--directory",
        "--project", "--index-strategy", "--extra", "--group", "--upgrade-strategy", "--src",
        "--implementation", "--build-option", "--keyring-provider", "--cert", "--proxy", "--log",
    }
)  # fmt: skip
_CARGO_VALUES = frozenset(
    {
        "--version", "--vers", "--git", "--rev", "--branch", "--tag", "--path", "--root", "-F",
        "--features", "--target", "--profile", "-j", "--jobs", "--registry", "--bin", "--config",
        "--index", "--target-dir", "--example", "-Z",
    }
)  # fmt: skip
_PIP = re.compile(r"pip(?:\d(?:\.\d+)?)?|pip-\d.*")
_PYTHON = re.compile(r"python(?:\d(?:\.\d+)?)?")
_INTERPRETER = re.compile(r"(?:(?<=/)|^)(?:python|config-)(\d+\.\d+)(?=[/-]|$)")
_VERBS = ("install", "download", "wheel")


def read_commands(
    reading: Reading, commands: list[Command], how: str, checkouts: Checkouts | None = None
) -> None:
    """Add the claims of the commands of one script.

    Args:
        reading: Where the claims go.
        commands: The commands in order.
        how: What runs them, for messages.
        checkouts: The git repositories that earlier scripts of the same file system cloned; the
            caller finishes it. Without one, this script stands alone.
    """
    git = checkouts or Checkouts(reading, how)
    for command in commands:
        for name, value in command.assignments:
            _assigned(reading, name, value, f"{how} assignment")
        words = command.words
        program = command.program
        if program == "git":
            git.command(words)
        elif program in ("cd", "pushd"):
            git.enter(words[1:])
        elif program == "cargo":
            _cargo(reading, words, how)
        elif program in ("rustup", "rustc"):
            _rustup(reading, words, how)
        elif program in ("apt-get", "apt"):
            for package in _apt(words):
                debian.add_word(reading, package, f"{how} {program}")
        elif words:
            for requirement in _requirements(words, program):
                common.requirement_claims(reading, requirement, f"{how} {program}")
        _options(reading, words, how)
        _interpreters(reading, command, how)
    if checkouts is None:
        git.finish()


def _apt(words: list[Traced]) -> Iterator[Traced]:
    """Yield the packages that `apt-get install` names."""
    rest = [word for word in words[1:] if not word.text.startswith("-")]
    verb = next((i for i, word in enumerate(rest) if word.text == "install"), None)
    if verb is not None:
        yield from rest[verb + 1 :]


def _interpreters(reading: Reading, command: Command, how: str) -> None:
    """`/usr/lib/python3.11/…`: a path goes stale with the interpreter that it belongs to."""
    values = [value for _, value in command.assignments]
    for word in (*command.words, *values):
        if command.program != "ln" and "/" not in word.text:
            continue
        for match in _INTERPRETER.finditer(word.text):
            toolchain.add(reading, "python", word.group(match, 1), f"{how} interpreter path")


def _requirements(words: list[Traced], program: str) -> Iterator[Traced]:
    """Yield the requirements that a pip, uv or pipx command names."""
    texts = [word.text for word in words]
    rest: list[Traced] = []
    if _PIP.fullmatch(program):
        rest = words[1:]
    elif (_PYTHON.fullmatch(program) and "pip" in texts[:8] and "-m" in texts[:7]) or (
        program == "uv" and "pip" in texts[1:4]
    ):
        rest = words[texts.index("pip") + 1 :]
    elif program == "uv" and len(words) > 1:
        yield from _uv(words, texts)
        return
    elif program == "uvx":
        yield from _tool(words[1:])
        return
    elif program == "pipx" and len(words) > 2:
        rest = words[1:]
    verb = next((i for i, word in enumerate(rest) if not word.text.startswith("-")), None)
    if verb is not None and rest[verb].text in (*_VERBS, "inject"):
        yield from _positional(rest[verb + 1 :])


def _uv(words: list[Traced], texts: list[str]) -> Iterator[Traced]:
    if texts[1] == "add":
        yield from _positional(words[2:])
    elif texts[1:3] == ["tool", "install"]:
        yield from _positional(words[3:])
    elif texts[1:3] == ["tool", "run"]:
        yield from _tool(words[3:])
    elif texts[1] == "run":
        for option, value in itertools.pairwise(words[2:]):
            if option.text in ("--with", "--from"):
                yield value


def _tool(words: list[Traced]) -> Iterator[Traced]:
    """`uvx sim@0.12.0 …` and `uvx --from sim==0.12.0 …`."""
    for option, value in itertools.pairwise(words):
        if option.text in ("--with", "--from"):
            yield value
    first = next((word for word in words if not word.text.startswith("-")), None)
    if first is not None:
        yield first


def _positional(words: list[Traced]) -> Iterator[Traced]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text in ("-e", "--editable"):
            continue
        elif word.text.startswith("-"):
            skip = word.text in _PIP_VALUES
        elif "==" in word.text or "@" in word.text or re.match(r"[\w\[\].,-]+", word.text):
            yield word


def _followed(words: list[Traced]) -> list[tuple[Traced, Traced | None]]:
    """Return each word with the one after it."""
    return list(itertools.zip_longest(words, words[1:]))


def _cargo(reading: Reading, words: list[Traced], how: str) -> None:
    rest = words[1:]
    if rest and rest[0].text.startswith("+"):
        toolchain.add(reading, "rust", rest[0][1:], f"{how} cargo +toolchain")
        rest = rest[1:]
    verb = next((word.text for word in rest if not word.text.startswith("-")), "")
    texts = [word.text for word in rest]
    if verb in ("build", "b", "run", "test", "rustc") and not {"--locked", "--frozen"} & set(texts):
        at = reading.document.located(rest[texts.index(verb)])
        message = f"cargo {verb} without --locked rewrites a stale Cargo.lock in silence"
        reading.facts.append(Override("unlocked-build", at, message))
    if verb == "install":
        _cargo_install(reading, rest[texts.index("install") + 1 :], how)


def _cargo_install(reading: Reading, words: list[Traced], how: str) -> None:
    document = reading.document
    how = f"{how} cargo install"
    options: dict[str, Traced] = {}
    names: list[Traced] = []
    skip = False
    for word, following in _followed(words):
        if skip:
            skip = False
        elif word.text.startswith("-"):
            name, _, value = word.text.partition("=")
            if value:
                options[name] = word[len(name) + 1 :]
            elif word.text in _CARGO_VALUES and following is not None:
                options[word.text] = following
                skip = True
        else:
            names.append(word)
    git = options.get("--git")
    if git is not None:
        found = [(ref, options.get(f"--{ref}")) for ref in ("rev", "branch", "tag")]
        name = crate_id(names[0].text) if names else repository_id(git.text)
        for ref, text in [pair for pair in found if pair[1]] or [("default", None)]:
            kind = "crate" if names else "repository"
            common.git_claims(reading, kind, name, git, text, how, ref=ref)  # type: ignore[arg-type]
        return
    version = options.get("--version") or options.get("--vers")
    for word in names:
        at = word.text.find("@")
        wanted = word[at + 1 :] if at > 0 else version
        crate = crate_id(word.text[:at] if at > 0 else word.text)
        if wanted is None:
            reading.claims.append(Claim("crate", crate, "name", document.located(word), how))
        elif wanted.text[:1].isdigit() or UNRESOLVED in wanted.text:
            # A bare version is exact here, unlike in a manifest.
            at_version = document.located(wanted)
            reading.claims.append(Claim("crate", crate, "exact", at_version, how, "semver"))
        else:
            common.crate_claim(reading, crate, wanted, how)


def _rustup(reading: Reading, words: list[Traced], how: str) -> None:
    rest = [word for word in words[1:] if not word.text.startswith("-")]
    texts = [word.text for word in rest]
    if words[0].text.endswith("rustc"):
        if texts and texts[0].startswith("+"):
            toolchain.add(reading, "rust", rest[0][1:], f"{how} rustc +toolchain")
        return
    targets: list[Traced] = []
    if texts[:2] in (["toolchain", "install"], ["toolchain", "add"]) or texts[:2] == [
        "override",
        "set",
    ]:
        targets = rest[2:3]
    elif texts[:1] in (["default"], ["install"], ["run"], ["update"]):
        targets = rest[1:2]
    for target in targets:
        toolchain.add(reading, "rust", target, f"{how} rustup")
    for option, value in itertools.pairwise(words[1:]):
        if option.text == "--toolchain":
            toolchain.add(reading, "rust", value, f"{how} rustup --toolchain")


def _assigned(reading: Reading, name: str, value: Traced, how: str) -> None:
    if not value.text:
        return
    at = reading.document.located(value)
    reading.claims.append(Claim("build-arg", name, "value", at, how))
    if name == "RUSTUP_TOOLCHAIN":
        toolchain.add(reading, "rust", value, how)


def _options(reading: Reading, words: list[Traced], how: str) -> None:
    """`--default-toolchain` belongs to rustup-init however that is called (`| sh -s -- …`)."""
    for word, following in _followed(words):
        if word.text == "--build-arg" and following is not None:
            name, _, _ = following.text.partition("=")
            _assigned(reading, name, following[len(name) + 1 :], f"{how} --build-arg")
        elif word.text == "--default-toolchain" and following is not None:
            if following.text != "none":
                toolchain.add(reading, "rust", following, f"{how} --default-toolchain")
        elif word.text.startswith("--default-toolchain="):
            toolchain.add(reading, "rust", word[20:], f"{how} --default-toolchain")
    if words and words[0].text.rpartition("/")[2] == "uv":
        _uv_python(reading, words, how)


def _uv_python(reading: Reading, words: list[Traced], how: str) -> None:
    """`uv … --python 3.12` and `uv python install 3.12`."""
    chosen = [
        following
        for word, following in itertools.pairwise(words)
        if word.text in ("--python", "-p")
    ]
    if [word.text for word in words[1:3]] == ["python", "install"]:
        chosen += words[3:]
    for word in chosen:
        if re.fullmatch(rf"\d+(?:\.\d+)*|{UNRESOLVED}", word.text):
            toolchain.add(reading, "python", word, f"{how} uv python")
