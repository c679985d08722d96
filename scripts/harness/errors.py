"""The error classes of the harness; each carries its exit code."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every harness command."""

    OK = 0
    FINDINGS = 1
    INPUT = 2
    TOOL = 3
    INTERNAL = 4


class HarnessError(Exception):
    """What is wrong, where, and the command or edit that fixes it."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, where: str | None = None, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  fix: {self.fix}" if self.fix else text


class CheckFailed(HarnessError):
    """A check or an acceptance case found something wrong."""

    exit_code = ExitCode.FINDINGS


class InputError(HarnessError):
    """A configuration, a file or an argument is wrong."""

    exit_code = ExitCode.INPUT


class ToolError(HarnessError):
    """A tool that the harness calls is missing, too old, or failed."""

    exit_code = ExitCode.TOOL
