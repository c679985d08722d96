"""The public traces that cases name: not shipped, so replayed where they lie and only there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError


@dataclass(frozen=True)
class PublicTrace:
    """A published file; the expected figures of its cases hold for these bytes and no others."""

    file: str
    sha256: str
    source: str


PUBLIC = {
    "conversation": PublicTrace(
        "mooncake-conversation.jsonl",
        "b8cbb061a85206d729d91cdc2981f43c9e0d99209dce588d3af5f7934408b9df",
        "conversation_trace.jsonl of kvcache-ai/Mooncake, FAST25-release/traces",
    ),
    "code": PublicTrace(
        "azure-llm-2023-code.csv",
        "54e9a6d2a4bd06ba1e060304b900abbc74cbea53de96506e60fe5bb4f2277fb6",
        "AzureLLMInferenceTrace_code.csv of Azure/AzurePublicDataset, data",
    ),
}


def find_public(name: str, folder: Path) -> Path | None:
    """Return where a public trace lies, None where it does not.

    Raises InputError where another file has its name.
    """
    trace = PUBLIC[name]
    path = folder / trace.file
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != trace.sha256:
        raise InputError(
            f"not the published file: expected sha256 {trace.sha256}, found {found}",
            where=str(path),
            fix=f"fetch it again: {trace.source}",
        )
    return path


def absence(name: str, folder: Path) -> str:
    """Return why the cases of a public trace are not run."""
    trace = PUBLIC[name]
    return f"no {trace.file} in {folder} ({trace.source}); name its folder with --traces"
