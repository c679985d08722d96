"""GitHub workflows and composite actions."""

from __future__ import annotations

import re

from harness.pins import shell, yaml
from harness.pins.readers import common, compose, shell_claims, toolchain
from harness.pins.readers.git_checkouts import Checkouts
from harness.pins.readers.setup_actions import read_inputs
from harness.pins.readers.workflow_scope import Scope
from harness.pins.text import Located, Traced
from harness.pins.tokens import Claim, Override, Reading

NAME = "workflow"
_COMMENT = re.compile(r"[ \t\"']*#[ \t]*(\S+)")


def read(reading: Reading) -> None:
    """Read one workflow or action."""
    root = yaml.parse(reading.document)
    top = Scope(reading)
    _environment(reading, top, yaml.get(root, "env"), "env")
    _defaults(reading, top, root)
    for _, job in yaml.items(yaml.get(root, "jobs")):
        _job(reading, top.child(), job)
    runs = yaml.get(root, "runs")
    image = top.text(yaml.get(runs, "image"))
    if image is not None and image.text.startswith("docker://"):
        common.image_claims(reading, image[9:], "runs.image")
    _steps(reading, top, yaml.get(runs, "steps"))


def _defaults(reading: Reading, scope: Scope, root: yaml.Node | None) -> None:
    """Defaults of inputs: of actions, and of workflows that are called or dispatched."""
    places = [yaml.get(root, "inputs")]
    for trigger in ("workflow_call", "workflow_dispatch"):
        # YAML 1.1 reads a plain `on` as true; the node keeps the word.
        places.append(yaml.get(root, "on", trigger, "inputs"))
    for inputs in places:
        for key, declared in yaml.items(inputs):
            default = yaml.get(declared, "default")
            text = scope.text(default)
            if text is not None and text.text:
                scope.inputs[key.value] = text
                _value(reading, key.value, text, "input default")
                compose.lossy(reading, default)


def _job(reading: Reading, scope: Scope, job: yaml.Node | None) -> None:
    scope.matrix(yaml.get(job, "strategy", "matrix"))
    _environment(reading, scope, yaml.get(job, "env"), "env")
    container = yaml.get(job, "container")
    _image(reading, scope, container, "container")
    for key, service in yaml.items(yaml.get(job, "services")):
        _image(reading, scope, service, f"service {key.value}")
    _uses(reading, scope, job)
    _steps(reading, scope, yaml.get(job, "steps"))


def _image(reading: Reading, scope: Scope, node: yaml.Node | None, how: str) -> None:
    image = yaml.get(node, "image") if yaml.scalar(reading.document, node) is None else node
    for text in scope.texts(image):
        common.image_claims(reading, text, how)
    _environment(reading, scope, yaml.get(node, "env"), f"{how} env")


def _steps(reading: Reading, scope: Scope, steps: yaml.Node | None) -> None:
    checkouts = Checkouts(reading, "run")
    for step in yaml.entries(steps):
        inner = scope.child()
        _environment(reading, inner, yaml.get(step, "env"), "env")
        _uses(reading, inner, step)
        if not _is_shell(reading, step):
            continue
        for script in inner.texts(yaml.get(step, "run")):
            commands = shell.commands(script, inner.environment)
            shell_claims.read_commands(reading, commands, "run", checkouts)
    checkouts.finish()
    # A workflow may build unlocked on purpose (a canary); only images must not.
    reading.facts = [
        fact
        for fact in reading.facts
        if not (isinstance(fact, Override) and fact.what == "unlocked-build")
    ]


def _is_shell(reading: Reading, step: yaml.Node | None) -> bool:
    text = yaml.scalar(reading.document, yaml.get(step, "shell"))
    return text is None or not re.match(r"python|node|perl", text.text)


def _environment(reading: Reading, scope: Scope, node: yaml.Node | None, how: str) -> None:
    for key, value in yaml.items(node):
        texts = scope.texts(value)
        if not texts:
            continue
        name = key.value
        scope.env[name] = texts[0]
        compose.lossy(reading, value)
        for text in texts:
            _value(reading, name, text, how)
            if name == "RUSTUP_TOOLCHAIN" and text.text:
                toolchain.add(reading, "rust", text, "RUSTUP_TOOLCHAIN")
                reading.facts.append(
                    Override(
                        "toolchain", reading.document.located(text),
                        "RUSTUP_TOOLCHAIN beats the toolchain file",
                    )
                )  # fmt: skip
        if name == "UV_FROZEN" and texts[0].text.lower() in ("1", "true"):
            message = "UV_FROZEN turns off the check that uv.lock belongs to pyproject.toml"
            at = reading.document.located(texts[0])
            reading.facts.append(Override("frozen-lock", at, message))


def _value(reading: Reading, name: str, value: Traced, how: str) -> None:
    if value.text:
        at = reading.document.located(value)
        reading.claims.append(Claim("build-arg", name, "value", at, how))


def _uses(reading: Reading, scope: Scope, node: yaml.Node | None) -> None:
    """Read `uses:` of a step or of a job, and its inputs."""
    uses = yaml.scalar(reading.document, yaml.get(node, "uses"))
    inputs = yaml.get(node, "with")
    for key, value in yaml.items(inputs):
        for text in scope.texts(value):
            _value(reading, key.value, text, "with")
        if key.value == "build-args":
            _build_args(reading, scope, value)
    if uses is None or uses.text.startswith("."):
        return
    if uses.text.startswith("docker://"):
        common.image_claims(reading, uses[9:], "uses")
        return
    at = uses.text.rfind("@")
    action = uses.text if at < 0 else uses.text[:at]
    parts = action.split("/")
    name = "/".join(parts[:2]).lower()
    if len(parts) < 2:
        return
    reference = uses[at + 1 :] if at >= 0 else None
    taken = read_inputs(reading, scope, name, reference, inputs)
    if taken:
        # The reference chose a toolchain; it is no revision of the action.
        return
    located = reading.document.located(reference if reference is not None else uses)
    if reference is None:
        located = Located("", located.span, exact=False)
    reading.claims.append(
        Claim(
            "action", name, "revision", located, f"uses {action}", comment=_comment(reading, uses)
        )
    )


def _comment(reading: Reading, uses: Traced) -> Located | None:
    """Return the version in the comment behind `uses: owner/repo@revision  # v1.2.3`."""
    if not uses.at:
        return None
    line = reading.document.text[uses.at[-1] + 1 :].split("\n", 1)[0]
    match = _COMMENT.match(line)
    if match is None or not re.match(r"v?\d|tag=", match[1]):
        return None
    start = uses.at[-1] + 1 + match.start(1)
    text = reading.document.traced(start, start + len(match[1]))
    return reading.document.located(text[4:] if text.text.startswith("tag=") else text)


def _build_args(reading: Reading, scope: Scope, node: yaml.Node | None) -> None:
    """`build-args: |` of docker/build-push-action: a line an argument."""
    text = scope.text(node)
    if text is None:
        return
    for match in re.finditer(r"^[ \t]*([A-Za-z_]\w*)=([^\n\r]+)$", text.text, re.MULTILINE):
        _value(reading, match[1], text.group(match, 2).strip(), "build-args")
