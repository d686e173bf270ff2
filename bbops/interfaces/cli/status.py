"""Show the live release of a running server, and what it could not publish.

Exits with 1 when a project is not ready.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from bbops.base.console import say, show, wants_color
from bbops.base.render import one_line, printable, render
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import named_project, of_server, open_remote
from bbops.interfaces.cli._watching import choose_view, watch

if TYPE_CHECKING:
    from rich.table import Table

    from bbops.interfaces.answers import ProjectCondition, ServerStatus, Status
    from bbops.interfaces.client import Remote

    _Statuses = tuple[list[Status], ServerStatus]

_STYLES = {"Ready": "green", "Reconciling": "yellow", "Stalled": "red", "Warning": "yellow"}
_SHORT = 12


@examples("bbops status", "bbops status shop --watch")
@click.command()
@named_project
@of_server
@click.option("--watch", "-w", "watches", is_flag=True, help="Keep showing changes until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(name: str | None, server: str, *, watches: bool, as_json: bool) -> int:
    """Show the status of a running server: all its projects, or the one called NAME.

    With --watch it shows each stage of a publication that takes longer than a moment: as a table in
    a terminal, else one line per change; with --json, one object per line for each project that
    changed.

    Exits with 0 when the newest commit of each project is live, with 1 when one is not, or when a
    change to the server's file was rejected.
    """
    with open_remote(server) as remote:
        if watches:
            statuses, settings = _watch(remote, name, as_json=as_json)
        else:
            statuses, settings = _read(remote, name)
            _print_all(statuses, settings, as_json=as_json)
    is_rejected = any(item.severity == "error" for item in settings.diagnostics)
    return int(is_rejected or not all(status.is_ready for status in statuses))


def _watch(remote: Remote, name: str | None, *, as_json: bool) -> _Statuses:
    with ExitStack() as stack:
        show_projects = choose_view(_draw, _shown_conditions, stack, as_json=as_json)
        return watch(lambda: _read(remote, name), lambda statuses: show_projects(statuses[0]))


def _print_all(statuses: Sequence[Status], settings: ServerStatus, *, as_json: bool) -> None:
    if as_json:
        import msgspec  # noqa: PLC0415 - only for this

        document = {"projects": msgspec.to_builtins(statuses)}
        if settings.file is not None:
            document["server"] = msgspec.to_builtins(settings)
        say(json.dumps(document, indent=2))
    else:
        _print_projects(statuses)
        _print_settings(settings)


def _read(remote: Remote, name: str | None) -> _Statuses:
    from bbops.interfaces.answers import ServerStatus  # noqa: PLC0415 - after --help

    if name:
        return [remote.status(name)], ServerStatus()
    statuses = [remote.status(line.name) for line in remote.projects()]
    return statuses, remote.server()


def _print_projects(statuses: Sequence[Status]) -> None:
    if not statuses:
        say("the server has no projects")
        return
    show(_draw(statuses))
    _print_diagnostics(statuses)


def _draw(statuses: Sequence[Status]) -> Table:
    from rich.table import Table  # noqa: PLC0415 - only for this
    from rich.text import Text  # noqa: PLC0415

    table = Table("project", "revision", "release", "state", "reason", "message", box=None)
    for status in statuses:
        for number, condition in enumerate(_shown_conditions(status)):
            head = _head(status) if number == 0 else ("", "", "")
            state, style = _state(condition)
            cells = (*head, state, condition.reason, condition.message)
            styles = ("bold", "", "", style, "", "")
            table.add_row(*(Text(printable(c), s) for c, s in zip(cells, styles, strict=True)))
    return table


def _print_diagnostics(statuses: Sequence[Status]) -> None:
    for status in statuses:
        if not status.is_ready and (status.diagnostics or status.attempted_subject):
            say(f"\n{printable(status.name)}: {one_line(_title(status))}")
        if not status.is_ready and status.diagnostics:
            diagnostics = [item.diagnostic() for item in status.diagnostics]
            say(render(diagnostics, "text", color=wants_color(sys.stdout)))


def _title(status: Status) -> str:
    """Return the subject and the revision of the last attempted commit."""
    revision = status.attempted_revision or "not read yet"
    return f"{status.attempted_subject} ({revision})" if status.attempted_subject else revision


def _print_settings(settings: ServerStatus) -> None:
    if settings.diagnostics:
        diagnostics = [item.diagnostic() for item in settings.diagnostics]
        say(f"\n{printable(settings.file or 'the settings')}")
        say(render(diagnostics, "text", color=wants_color(sys.stdout)))


def _shown_conditions(status: Status) -> list[ProjectCondition]:
    """Return the conditions that get a line: Ready always, the others only when they are true."""
    return [item for item in status.conditions if item.type == "Ready" or item.status]


def _state(condition: ProjectCondition) -> tuple[str, str]:
    if condition.type == "Ready" and not condition.status:
        return "not Ready", "red"
    return condition.type, _STYLES.get(condition.type, "")


def _head(status: Status) -> tuple[str, str, str]:
    branch, _, commit = (status.applied_revision or "").rpartition(":")
    revision = f"{branch}:{commit[:_SHORT]}" if branch else commit[:_SHORT]
    return status.name, revision or "-", (status.release or "-")[:_SHORT]
