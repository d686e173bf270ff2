"""Processes that are forked: drafts and test runs."""

from __future__ import annotations

from typing import Literal

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.source.tree import Entry
from bbops_server.process.messages.request import (
    AnswerMessage,
    DoneAnswer,
    EventMessage,
    RequestMessage,
)


class Forked(AnswerMessage, frozen=True):
    """A forked process."""

    pid: int


class ForkDraft(RequestMessage[Forked], frozen=True):
    """Fork the process of a draft.

    Attributes:
        socket: the path of the socket for requests.
        folder: the draft's state folder.
        egress: rules for outgoing requests, as in data processes.
        concurrency: the number of jobs that run at a time.
        control: the path of the parent's socket.
    """

    socket: str
    folder: str
    egress: tuple[str, ...]
    concurrency: int = 50
    control: str = ""


class ForkTestRun(RequestMessage[Forked], frozen=True):
    """Fork a process that runs tests.

    Attributes:
        scratch: a folder for databases; the parent removes it.
        control: the path of the parent's socket.
    """

    scratch: str
    control: str = ""


class Kill(RequestMessage[DoneAnswer], frozen=True):
    """Kill a forked process and its children."""

    pid: int


class Ended(EventMessage, frozen=True):
    """A forked process has ended."""

    pid: int
    status: int
    """The exit status; negative for a signal."""

    cpu_seconds: float


class CaseReport(AnswerMessage, frozen=True):
    """Results of a test run."""

    cases: int = 0
    failed: int = 0
    diagnostics: list[JsonDiagnostic] = []
    seconds: float = 0.0


class RunTests(RequestMessage[CaseReport], frozen=True):
    """Run the tests of a project."""

    seconds: float
    """The time limit of the run."""

    revision: str
    listed: tuple[Entry, ...]

    blobs: dict[str, bytes]
    """The bytes of the resources, by object id."""

    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
    """Disabled features."""


class CaseStarted(EventMessage, frozen=True):
    """A test case has started."""

    file: str
    line: int
    column: int
