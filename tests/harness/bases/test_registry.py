"""Bases from a real registry on loopback: pushed, pulled by digest, the same image."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bases.choose import provide
from harness.bases.registry import pull, push, registry_of
from harness.engine import Engine
from harness.errors import ToolError
from harness.workspace import Workspace

pytestmark = [
    pytest.mark.pre_merge,
    pytest.mark.integration,
    pytest.mark.gpu_0,
    pytest.mark.timeout(300),
]


def test_a_pushed_base_comes_back_as_the_same_image(
    checkout: Path, tmp_path: Path, registry: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = provide(Workspace(checkout), engine)["runtime"]
    digest = push(engine, local.reference, registry, "runtime")
    (tmp_path / "deps").mkdir()
    (tmp_path / "deps" / "pins.toml").write_text(
        'schema = 1\n[[pin]]\nname = "base-runtime"\nimages = ["base-runtime"]\n'
        f'digest = "{digest}"\n'
    )
    monkeypatch.setenv("BASE_REGISTRY", registry)
    reference = registry_of(Workspace(tmp_path), "runtime")
    try:
        pulled = pull(engine, reference)
        assert pulled.id == local.image_id
        # Pushing again gives the same digest: it can be pinned.
        assert push(engine, local.reference, registry, "runtime") == digest
    finally:
        engine.sdk.images.remove(f"{registry}/base-runtime:latest", noprune=True)


def test_a_digest_that_the_registry_does_not_have(registry: str, engine: Engine) -> None:
    with pytest.raises(ToolError, match="can't pull") as caught:
        pull(engine, f"{registry}/base-runtime@sha256:{'0' * 64}")
    assert "BASE=debian" in str(caught.value.fix)


def test_a_registry_that_does_not_answer(engine: Engine) -> None:
    with pytest.raises(ToolError, match="can't pull"):
        pull(engine, f"127.0.0.1:1/base-runtime@sha256:{'0' * 64}")
