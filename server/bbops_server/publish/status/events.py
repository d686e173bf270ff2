"""Events of a server, which commands print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.reports import Reported
from bbops_server.publish.status.status import Stalled


@dataclass(frozen=True, slots=True)
class ServerReady:
    """All processes are running: the URLs of the API and the control plane.

    `setup_url` creates the first account; empty if there is one. `database` is empty if data is in
    the state folder.
    """

    url: str
    control_url: str
    source: str
    setup_url: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True)
class ReleasePublished:
    """A release has gone live."""

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
class SourceRecovered:
    """The source is reachable again."""

    source: str


@dataclass(frozen=True, slots=True)
class SettingsApplied:
    """A change of the server's file was applied; the projects are listed by name."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    diagnostics: list[JsonDiagnostic]


@dataclass(frozen=True, slots=True)
class SettingsRejected:
    """A change of the server's file has errors: the previous settings stay in effect."""

    diagnostics: list[JsonDiagnostic]


ServerEvent = (
    ServerReady
    | ReleasePublished
    | Stalled
    | SourceRecovered
    | SettingsApplied
    | SettingsRejected
    | Reported
)
Report = Callable[[ServerEvent], None]
ReportProject = Callable[[str, ServerEvent], None]
"""Takes the server's name for a project, empty for the server itself, and an event."""
