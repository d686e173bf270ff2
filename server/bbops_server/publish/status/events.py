"""What a server says while it works; commands print it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bbops_server.publish.status.status import Stalled


@dataclass(frozen=True, slots=True)
class Serving:
    """Said once, when every process runs: where the API and the control plane are.

    `setup_url` makes the first account; empty when there is one. `database` is named where data is
    not in the state folder.
    """

    url: str
    control_url: str
    source: str
    setup_url: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """What a report says of a publication."""

    revision: str
    release: str
    subject: str
    changes: list[str]
    compiled: int
    milliseconds: float
    url: str
    warnings: list[dict[str, Any]]
    version: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Said when the source is in reach again; what is live has not changed by that."""

    source: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The server's file has changed, and with it the projects of these names."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    diagnostics: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Refused:
    """The server's file has changed and has mistakes: the settings before serve on."""

    diagnostics: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that `bbops dev` has answered.

    Attributes:
        path: without secrets, and without the query.
        status: 0 where the client left before its answer began.
        code: of the error; empty without one.
        at: file and line of the step that failed.
        missed: how many before it were too many to be told.
    """

    method: str
    path: str
    status: int
    milliseconds: float
    code: str = ""
    at: str = ""
    missed: int = 0


Event = Serving | Published | Stalled | Found | Applied | Refused | Answered
Report = Callable[[Event], None]
Tell = Callable[[str, Event], None]
"""Takes the name the server gives a project, empty for the server itself, and what happened."""
