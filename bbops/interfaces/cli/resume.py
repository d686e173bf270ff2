"""Resume publishing, after 'bbops suspend'."""

from __future__ import annotations

import json

import click

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import as_json_option, named_project, of_server, open_remote


@examples("bbops resume", "bbops resume shop")
@click.command()
@named_project
@click.option(
    "--despite-freeze", is_flag=True,
    help="Also publish the newest commit despite a freeze, once; the audit log records the user.",
)  # fmt: skip
@of_server
@as_json_option
def command(name: str | None, server: str, *, despite_freeze: bool, as_json: bool) -> None:
    """Resume publishing of the project NAME, by default the only one."""
    with open_remote(server) as remote:
        project = name or remote.only_project()
        was_suspended = remote.resume(project)
        exempted = remote.exempt(project) if despite_freeze else ""
    if as_json:
        result = {"project": project, "was_suspended": was_suspended, "exempted": exempted}
        say(json.dumps(result))
        return
    word = "resumed" if was_suspended else "were not suspended"
    say(f"publications of {printable(project)} {word}")
    if exempted:
        say(f"{printable(exempted)} goes live despite the freeze")
