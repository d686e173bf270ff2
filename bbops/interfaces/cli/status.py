"""Show what a running server serves, and what it could not publish.

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
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._server import named_project, of_server, open_remote
from bbops.interfaces.cli._watching import choose_view, watch

if TYPE_CHECKING:
    from rich.table import Table

    from bbops.interfaces.answers import Condition, ServerStatus, Status
    from bbops.interfaces.client import Remote

    Found = tuple[list[Status], ServerStatus]

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
            found, settings = _watch(remote, name, as_json=as_json)
        else:
            found, settings = _ask(remote, name)
            _tell(found, settings, as_json=as_json)
    is_refused = any(one.severity == "error" for one in settings.diagnostics)
    return int(is_refused or not all(one.is_ready for one in found))


def _watch(remote: Remote, name: str | None, *, as_json: bool) -> Found:
    with ExitStack() as stack:
        show_projects = choose_view(_draw, _telling, stack, as_json=as_json)
        return watch(lambda: _ask(remote, name), lambda found: show_projects(found[0]))


def _tell(found: Sequence[Status], settings: ServerStatus, *, as_json: bool) -> None:
    if as_json:
        import msgspec  # noqa: PLC0415 - only for this

        told = {"projects": msgspec.to_builtins(found)}
        if settings.file is not None:
            told["server"] = msgspec.to_builtins(settings)
        say(json.dumps(told, indent=2))
    else:
        _show(found)
        _show_settings(settings)


def _ask(remote: Remote, name: str | None) -> Found:
    from bbops.interfaces.answers import ServerStatus  # noqa: PLC0415 - after --help

    if name:
        return [remote.status(name)], ServerStatus()
    found = [remote.status(one.name) for one in remote.projects()]
    return found, remote.server()


def _show(found: Sequence[Status]) -> None:
    if not found:
        say("the server has no projects")
        return
    show(_draw(found))
    _show_findings(found)


def _draw(found: Sequence[Status]) -> Table:
    from rich.table import Table  # noqa: PLC0415 - only for this
    from rich.text import Text  # noqa: PLC0415

    table = Table("project", "revision", "release", "state", "reason", "message", box=None)
    for one in found:
        for number, condition in enumerate(_telling(one)):
            head = _head(one) if number == 0 else ("", "", "")
            state, style = _state(condition)
            cells = (*head, state, condition.reason, condition.message)
            styles = ("bold", "", "", style, "", "")
            table.add_row(*(Text(printable(c), s) for c, s in zip(cells, styles, strict=True)))
    return table


def _show_findings(found: Sequence[Status]) -> None:
    for one in found:
        if not one.is_ready and (one.diagnostics or one.attempted_subject):
            say(f"\n{printable(one.name)}: {one_line(_title(one))}")
        if not one.is_ready and one.diagnostics:
            diagnostics = [finding.diagnostic() for finding in one.diagnostics]
            say(render(diagnostics, "text", color=wants_color(sys.stdout)))


def _title(status: Status) -> str:
    """Return the commit that was tried last, by its subject where that is known."""
    revision = status.attempted_revision or "not read yet"
    return f"{status.attempted_subject} ({revision})" if status.attempted_subject else revision


def _show_settings(settings: ServerStatus) -> None:
    if settings.diagnostics:
        diagnostics = [finding.diagnostic() for finding in settings.diagnostics]
        say(f"\n{printable(settings.file or 'the settings')}")
        say(render(diagnostics, "text", color=wants_color(sys.stdout)))


def _telling(status: Status) -> list[Condition]:
    """Return the conditions worth a line: Ready either way, the others when they hold."""
    return [one for one in status.conditions if one.type == "Ready" or one.status]


def _state(condition: Condition) -> tuple[str, str]:
    if condition.type == "Ready" and not condition.status:
        return "not Ready", "red"
    return condition.type, _STYLES.get(condition.type, "")


def _head(status: Status) -> tuple[str, str, str]:
    branch, _, commit = (status.applied_revision or "").rpartition(":")
    revision = f"{branch}:{commit[:_SHORT]}" if branch else commit[:_SHORT]
    return status.name, revision or "-", (status.release or "-")[:_SHORT]
