"""Suspend publishing; the live release keeps serving."""

from __future__ import annotations

import json

import click

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import as_json_option, named_project, of_server, open_remote


@examples("bbops suspend", 'bbops suspend shop --reason "Moving the database"')
@click.command()
@named_project
@click.option("--reason", default="", metavar="TEXT", help="The reason; the status shows it.")
@of_server
@as_json_option
def command(name: str | None, reason: str, server: str, *, as_json: bool) -> None:
    """Suspend publishing of the project NAME, by default the only one, until 'bbops resume'.

    The live release keeps serving, drafts keep working, and pushes are accepted: the newest commit
    waits.
    """
    with open_remote(server) as remote:
        project = name or remote.only_project()
        remote.suspend(project, reason)
    if as_json:
        say(json.dumps({"project": project, "suspended": True}))
        return
    name = printable(project)
    say(f"publications of {name} are suspended; 'bbops resume {name}' resumes them")
