"""Set and list values of env variables, kept encrypted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bbops.errors import ServerError
from bbops_server.commands._options import state_folder

_SIGNS = ("project.yaml", "server.yaml", ".bbops/state")

_where = click.option(
    "--state", type=click.Path(path_type=Path), metavar="DIR",
    help="The server's state folder; by default .bbops/state of this folder.",
)  # fmt: skip
_of = click.option(
    "--project", metavar="NAME", help="The project, where a server.yaml names several."
)


@click.group("env")
def command() -> None:
    """Set and list values of env variables.

    Values are encrypted in the server's state folder, never in git. A running server takes a
    change up at once.
    """


@command.command("set")
@click.argument("name")
@click.argument("value", required=False)
@_of
@_where
def set_value(name: str, value: str | None, project: str | None, state: Path | None) -> None:
    """Set NAME; without VALUE it is asked for, or read from a pipe, so no shell remembers it."""
    from bbops_server.host.secrets import Secrets  # noqa: PLC0415 - after --help

    if not name.isascii() or not name.replace("_", "").isalnum() or name != name.upper():
        raise ServerError(f"'{name}' is no name of an env variable", hint="such as JWT_SECRET")
    if state is None and not any(map(Path.exists, map(Path, _SIGNS))):
        raise ServerError(
            "this folder is no project", hint="go to the project's folder, or give --state DIR"
        )
    folder = folder_of(state or Path(".bbops/state"), project)
    if value is None:
        value = ask(name)
    Secrets.open(folder if project else state_folder(Path.cwd(), state)).set(name, value)
    click.echo(f"{name} is set")


def folder_of(state: Path, project: str | None) -> Path:
    """Return the folder of a project in a state folder: with one project, that folder itself.

    Raises:
        ServerError: it holds several projects and none is named, or a name it does not hold.
    """
    here = state / "projects"
    served = [one.name for one in here.iterdir()] if here.is_dir() else []
    names = sorted({*served, *declared()})
    listed = ", ".join(names) or "no projects yet: 'bbops serve' makes them"
    if project is None and names:
        raise ServerError(
            f"'{state}' holds several projects", hint=f"name one with --project: {listed}"
        )
    if project is not None and project not in names:
        raise ServerError(f"'{state}' holds no project '{project}'", hint=f"it holds {listed}")
    return here / project if project else state


def declared() -> tuple[str, ...]:
    """Return the projects that a server.yaml of this folder names; they may not be served yet."""
    if not Path("server.yaml").is_file():
        return ()
    from bbops_server.server_file.load import read_file  # noqa: PLC0415 - after --help

    file = read_file(Path("server.yaml")).file
    return tuple(file.projects) if file else ()


def ask(name: str) -> str:
    """Return a value typed without echo, or the whole of a pipe."""
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True))
    return sys.stdin.read().removesuffix("\n")


@command.command("list")
@_of
@_where
@click.option("--json", "as_json", is_flag=True, help="A JSON object of the names.")
def list_values(project: str | None, state: Path | None, *, as_json: bool) -> None:
    """List the names that have a value; values are never shown."""
    from bbops_server.host.secrets import Secrets  # noqa: PLC0415 - after --help

    where = folder_of(state or Path(".bbops/state"), project)
    names = Secrets.open(where).names() if where.is_dir() else ()
    if as_json:
        click.echo(json.dumps({"names": sorted(names)}))
        return
    for name in sorted(names):
        click.echo(name)
    if not names:
        click.echo("no values yet; set one with 'bbops env set NAME'")
