"""Do the work of an agent in a repository."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bbops_server.process.messages.request import Answer, Request


class WorkRefusal(Answer, frozen=True):
    """Why it was not done, and the calls that would help."""

    message: str
    hint: str
    calls: list[dict[str, Any]]


class WorkDone(Answer, frozen=True):
    """What it gave, or why it was refused."""

    done: dict[str, Any] | None = None
    refused: WorkRefusal | None = None


class Workbench(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The project that it is done in.

    Attributes:
        live: the branch that is live.
        folder: of the project in the repository.
        who: name and address of whoever asks.
        taken: names of drafts that are taken.
    """

    repository: str
    live: str
    folder: str
    project: str
    taken: list[str]
    who: tuple[str, str]
    published: str
    """The commit that answers now; empty where nobody knows."""

    elsewhere: str
    """Where the repository is kept, if this is only a copy of it."""

    url: str
    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
    database: str


class DoWork(Request[WorkDone], frozen=True):
    """Do the work of an agent in a repository."""

    work: str
    """Its name."""

    taken: dict[str, Any]
    """What it takes."""

    bench: Workbench
