"""Set and list values of env variables, kept encrypted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bbops.errors import ServerError
from bbops_server.commands._options import state_folder

_where = click.option(
    "--state", type=click.Path(path_type=Path), metavar="DIR",
    help="The server's state folder; by default .bbops/state of this repository.",
)  # fmt: skip


@click.group("env")
def command() -> None:
    """Set and list values of env variables.

    Values are encrypted in the server's state folder, never in git. A running server takes a
    change up at once.
    """


@command.command("set")
@click.argument("name")
@click.argument("value", required=False)
@_where
def set_value(name: str, value: str | None, state: Path | None) -> None:
    """Set NAME; without VALUE it is asked for, or read from a pipe, so no shell remembers it."""
    from bbops_server.host.secrets import Secrets  # noqa: PLC0415 - after --help

    if not name.isascii() or not name.replace("_", "").isalnum() or name != name.upper():
        raise ServerError(f"'{name}' is no name of an env variable", hint="such as JWT_SECRET")
    if state is None and not Path("project.yaml").is_file() and not Path(".bbops/state").is_dir():
        raise ServerError(
            "this folder is no project", hint="go to the project's folder, or give --state DIR"
        )
    if value is None:
        value = ask(name)
    Secrets.open(state_folder(Path.cwd(), state)).set(name, value)
    click.echo(f"{name} is set")


def ask(name: str) -> str:
    """Return a value typed without echo, or the whole of a pipe."""
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True))
    return sys.stdin.read().removesuffix("\n")


@command.command("list")
@_where
@click.option("--json", "as_json", is_flag=True, help="A JSON object of the names.")
def list_values(state: Path | None, *, as_json: bool) -> None:
    """List the names that have a value; values are never shown."""
    from bbops_server.host.secrets import Secrets  # noqa: PLC0415 - after --help

    where = state or Path(".bbops/state")
    names = Secrets.open(where).names() if where.is_dir() else ()
    if as_json:
        click.echo(json.dumps({"names": sorted(names)}))
        return
    for name in sorted(names):
        click.echo(name)
    if not names:
        click.echo("no values yet; set one with 'bbops env set NAME'")
