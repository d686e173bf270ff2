"""Run the tests of a project that is handed over."""

from __future__ import annotations

from typing import Literal

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.source.tree import Entry
from bbops_server.process.messages.request import Answer, Request


class CaseReport(Answer, frozen=True):
    """How many cases ran and failed, and what is wrong."""

    cases: int = 0
    failed: int = 0
    diagnostics: list[JsonDiagnostic] = []
    seconds: float = 0.0


class RunTests(Request[CaseReport], frozen=True):
    """Run the tests of a project that is handed over."""

    seconds: float
    """What all of them may take."""

    revision: str
    listed: tuple[Entry, ...]

    blobs: dict[str, bytes]
    """What the resources hold."""

    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
    """Features that are off."""
