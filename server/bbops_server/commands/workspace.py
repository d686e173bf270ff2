"""Show and change the workspace of a server: name, company, features."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bbops.base.errors import ServerError
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops_server.commands._book import LOCAL, as_json, open_book, read_running
from bbops_server.commands._projects import where_state

if TYPE_CHECKING:
    from bbops_server.accounts.book import Book
    from bbops_server.accounts.workspace import Workspace

_SWITCH = {"on": True, "off": False}


@examples("bbops workspace show", "bbops workspace set company=Acme")
@click.group("workspace", cls=CommandGroup)
def command() -> None:
    """Show and change the workspace, which owns the projects of a server.

    Works on the server's own machine, also while it runs. The page /workspace of its control plane
    does the same.
    """


@examples("bbops workspace show")
@command.command("show")
@where_state
@as_json
def show(state: Path | None, *, as_json: bool) -> None:
    """Show name, company and features."""
    with open_book(state) as book:
        _tell(book.workspaces.get(), as_json=as_json)


@examples("bbops workspace set company=Acme", "bbops workspace set features.restChannels=off")
@command.command("set")
@click.argument("changes", nargs=-1, required=True, metavar="KEY=VALUE...")
@where_state
@as_json
def set_values(changes: tuple[str, ...], state: Path | None, *, as_json: bool) -> None:
    """Set name=…, company=… or features.restChannels=on|off.

    A running server checks every project again: a project that uses a disabled feature keeps its
    last release, and its next commit is rejected.
    """
    with open_book(state) as book:
        for change in changes:
            key, equals, value = change.partition("=")
            if not equals:
                raise ServerError(f"'{change}' has no value", hint=f"such as {key}=…")
            _set(book, key, value)
            book.audit.add("change workspace", who=LOCAL, object=change)
        _tell(book.workspaces.get(), as_json=as_json)
    _hurry(read_running(state))


def _set(book: Book, key: str, value: str) -> None:
    found, feature = book.workspaces.get(), key.removeprefix("features.")
    if key == "name":
        book.workspaces.set_profile(value, found.company)
    elif key == "company":
        book.workspaces.set_profile(found.name, value)
    elif feature == key:
        hint = "expected name, company or features.restChannels"
        raise ServerError(f"a workspace has no '{key}'", hint=hint)
    elif value not in _SWITCH:
        raise ServerError(f"'{key}' must be on or off, found '{value}'")
    else:
        book.workspaces.set_feature(feature, on=_SWITCH[value])


def _hurry(running: dict[str, str]) -> None:
    """Make a running server poll its projects; a stopped one sees the change at its start."""
    if not running:
        return
    from bbops.interfaces.client import Remote  # noqa: PLC0415 - httpx: 100 ms

    try:
        with Remote(running["url"], running["token"]) as remote:
            for project in remote.projects():
                remote.reconcile(project.name, again=True)
    except ServerError as error:
        message = f"a server that runs sees this at its next commit: {error.message}"
        click.echo(message, err=True)


def _tell(found: Workspace, *, as_json: bool) -> None:
    if as_json:
        profile: dict[str, Any] = {"name": found.name, "company": found.company}
        click.echo(json.dumps({**profile, "features": dict(found.features)}))
        return
    click.echo(f"name      {printable(found.name) or '-'}")
    click.echo(f"company   {printable(found.company) or '-'}")
    for name, on in found.features.items():
        click.echo(f"features.{name}={'on' if on else 'off'}")
