"""What a server says while it works; commands print it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.reports import Reported
from bbops_server.publish.status.status import Stalled


@dataclass(frozen=True, slots=True)
class Serving:
    """Said once, when every process runs: where the API and the control plane are.

    `setup_url` creates the first account; empty when there is one. `database` is named where data
    is not in the state folder.
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
    warnings: list[JsonDiagnostic]
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
    diagnostics: list[JsonDiagnostic]


@dataclass(frozen=True, slots=True)
class Refused:
    """The server's file has changed and has mistakes: the previous settings stay in effect."""

    diagnostics: list[JsonDiagnostic]


Event = Serving | Published | Stalled | Found | Applied | Refused | Reported
Report = Callable[[Event], None]
Tell = Callable[[str, Event], None]
"""Takes the name the server gives a project, empty for the server itself, and what happened."""
