"""Set and list values of env variables, kept encrypted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import click

from bbops.base.errors import ServerError
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops_server.commands._options import state_folder
from bbops_server.commands._projects import (
    folder_of,
    of_project,
    require_project,
    state_of,
    where_state,
)

for_drafts = click.option(
    "--drafts", is_flag=True, help="Use the values of drafts, which never see live values."
)


class _Taking(click.Command):
    """A command whose argument may be a secret: what is wrong with it is said without it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises: ServerError: one of them cannot be read."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            raise ServerError(
                "an argument is no option of this command; a value that begins with '-' is not"
                " taken as an argument", hint=_PIPED,
            ) from None  # fmt: skip
        except click.UsageError as error:
            if not error.message.startswith("Got unexpected extra argument"):
                raise
            raise ServerError("more than a NAME and one VALUE were given", hint=_PIPED) from None


_PIPED: Final = "read it from a file: bbops env set NAME < key.pem"


@examples("bbops env list", "bbops env set GREETING hello")
@click.group("env", cls=Family)
def command() -> None:
    """Set and list values of env variables.

    Values are encrypted in the server's state folder, never in git. A running server applies
    changes at once.
    """


@examples("bbops env set PAYMENTS_SECRET_KEY", "bbops env set GREETING hello --drafts")
@command.command("set", cls=_Taking)
@click.argument("name")
@click.argument("value", required=False)
@of_project
@where_state
@click.option(
    "--of-server",
    is_flag=True,
    help="The variable belongs to the server, not a project (such as a sign-in secret).",
)
@for_drafts
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def set_value(
    name: str, value: str | None, project: str | None, state: Path | None, *,
    of_server: bool, drafts: bool, as_json: bool,
) -> None:  # fmt: skip
    """Set NAME.

    Without VALUE, the value is read from a prompt or a pipe, which keeps it out of the shell
    history: bbops env set NAME < key.pem. A value that begins with '-' is read that way alone.
    """
    from bbops_server.process.host.secrets import Secrets  # noqa: PLC0415 - after --help

    if not name.isascii() or not name.replace("_", "").isalnum() or name != name.upper():
        raise ServerError(
            f"'{name}' is not a valid name of an env variable", hint="such as JWT_SECRET"
        )
    require_project(state)
    kept = state_of(state)
    folder = None if of_server else folder_of(kept, project)
    if value is None:
        value = ask(name)
    own = folder if project else None
    if drafts and folder is not None:
        own = folder / "drafts"
    Secrets.open(own or state_folder(Path.cwd(), state)).set(name, value)
    click.echo(json.dumps({"set": name}) if as_json else f"{name} is set")


def ask(name: str) -> str:
    """Return a value typed without echo, or the whole of a pipe."""
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True))
    return sys.stdin.read().removesuffix("\n")


@examples("bbops env list", "bbops env list --drafts")
@command.command("list")
@of_project
@where_state
@for_drafts
@click.option("--json", "as_json", is_flag=True, help="Print the names as JSON.")
def list_values(project: str | None, state: Path | None, *, drafts: bool, as_json: bool) -> None:
    """List the names that have a value; values are never shown."""
    from bbops_server.process.host.secrets import Secrets  # noqa: PLC0415 - after --help

    require_project(state)
    where = folder_of(state_of(state), project) / ("drafts" if drafts else "")
    names = Secrets.open(where).names() if where.is_dir() else ()
    if as_json:
        click.echo(json.dumps({"names": sorted(names)}))
        return
    for name in sorted(names):
        click.echo(name)
    if not names:
        click.echo("no values yet; set one with 'bbops env set NAME'")
