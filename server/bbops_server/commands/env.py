"""Set, remove and list values of env variables, kept encrypted."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bbops.base.errors import ServerError
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops_server.commands._env_values import (
    EnvState,
    find_env_state,
    find_oddities,
    read_piped,
    require_text,
    warn_undeclared,
)
from bbops_server.commands._projects import folder_of, of_project, where_state

if TYPE_CHECKING:
    from bbops_server.process.host.secrets import Secrets

for_drafts = click.option(
    "--drafts", is_flag=True, help="Use the values of drafts, which never see live values."
)


class _Taking(click.Command):
    """A command whose argument may be a secret, which is left out of error messages."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises: ServerError: one of them cannot be read."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            raise ServerError(
                "an argument is not an option of this command; a value that begins with '-' is not"
                " taken as an argument", hint=_PIPED,
            ) from None  # fmt: skip
        except click.UsageError as error:
            if not error.message.startswith("Got unexpected extra argument"):
                raise
            raise ServerError("more than a NAME and one VALUE were given", hint=_PIPED) from None


_PIPED: Final = "read it from a file: bbops env set NAME < key.pem"


@examples("bbops env list", "bbops env set GREETING hello")
@click.group("env", cls=CommandGroup)
def command() -> None:
    """Set, remove and list values of env variables.

    Values are encrypted in the server's state folder, never in git. A running server applies
    changes at once. Without --state, the command uses the server that runs for this folder.
    """


of_server_option = click.option(
    "--of-server",
    is_flag=True,
    help="The variable belongs to the server, not a project (such as a sign-in secret).",
)


@examples("bbops env set PAYMENTS_SECRET_KEY", "bbops env set GREETING hello --drafts")
@command.command("set", cls=_Taking)
@click.argument("name")
@click.argument("value", required=False)
@of_project
@where_state
@of_server_option
@for_drafts
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def set_value(
    name: str, value: str | None, project: str | None, state: Path | None, *,
    of_server: bool, drafts: bool, as_json: bool,
) -> None:  # fmt: skip
    """Set NAME.

    Without VALUE, the value is read from a prompt or a pipe, which keeps it out of the shell
    history: bbops env set NAME < key.pem. A value that begins with '-' is read that way alone.
    One final line break of a pipe is removed; everything else is kept, and characters that cannot
    be seen are reported. The encoding is UTF-8. A NAME that the live release's project.yaml does
    not declare is reported, too, and kept.
    """
    _require_name(name)
    found = find_env_state(state, drafts=drafts)
    folder = _store_folder(found, project, of_server=of_server, drafts=drafts)
    value = ask(name) if value is None else require_text(value)
    found.make()
    _open(folder).set(name, value)
    state_of_project = folder.parent if drafts and not of_server else folder
    undeclared = "" if of_server else warn_undeclared(name, state_of_project, Path.cwd())
    warnings = [*find_oddities(value), *filter(None, [undeclared])]
    for warning in warnings:
        click.echo(f"warning: {warning}; it is kept", err=True)
    answer = {"set": name, **({"warnings": warnings} if warnings else {})}
    _show(found, answer, f"{name} is set", as_json=as_json)


@examples("bbops env unset GREETING", "bbops env unset GREETING --drafts")
@command.command("unset")
@click.argument("name")
@of_project
@where_state
@of_server_option
@for_drafts
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def unset_value(
    name: str, project: str | None, state: Path | None, *,
    of_server: bool, drafts: bool, as_json: bool,
) -> None:  # fmt: skip
    """Remove the stored value of NAME; its default, if it has one, counts again."""
    _require_name(name)
    found = find_env_state(state, drafts=drafts)
    folder = _store_folder(found, project, of_server=of_server, drafts=drafts)
    if not folder.is_dir() or not _open(folder).unset(name):
        raise ServerError(
            f"'{name}' has no stored value in '{folder}'",
            hint="'bbops env list' lists the names that have one",
        )
    _show(found, {"unset": name}, f"{name} is removed", as_json=as_json)


def _require_name(name: str) -> None:
    if not name.isascii() or not name.replace("_", "").isalnum() or name != name.upper():
        raise ServerError(
            f"'{name}' is not a valid name of an env variable", hint="such as JWT_SECRET"
        )


def _store_folder(
    found: EnvState, project: str | None, *, of_server: bool = False, drafts: bool = False
) -> Path:
    """Return the folder of the values of a project, of its drafts, or of the server."""
    own = found.folder if of_server and not project else folder_of(found.folder, project)
    return own / "drafts" if drafts and not of_server else own


def _open(folder: Path) -> Secrets:
    from bbops_server.process.host.secrets import Secrets  # noqa: PLC0415 - after --help

    return Secrets.open(folder)


def _show(found: EnvState, answer: Mapping[str, Any], done: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(answer))
        return
    click.echo(f"{done} {found.reader}".rstrip())


def ask(name: str) -> str:
    """Return a value typed without echo or read from a pipe. Raises: ServerError: as `decode`."""
    if sys.stdin.isatty():
        return require_text(str(click.prompt(name, hide_input=True)))
    return read_piped()


@examples("bbops env list", "bbops env list --drafts")
@command.command("list")
@of_project
@where_state
@for_drafts
@click.option("--json", "as_json", is_flag=True, help="Print the names as JSON.")
def list_values(project: str | None, state: Path | None, *, drafts: bool, as_json: bool) -> None:
    """List the names that have a value; values are never shown."""
    folder = _store_folder(find_env_state(state, drafts=drafts), project, drafts=drafts)
    names = _open(folder).names() if folder.is_dir() else ()
    if as_json:
        click.echo(json.dumps({"names": sorted(names)}))
        return
    for name in sorted(names):
        click.echo(name)
    if not names:
        click.echo("no values yet; set one with 'bbops env set NAME'")
