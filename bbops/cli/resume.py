"""Let the newest commit go live again, after 'bbops suspend'."""

from __future__ import annotations

import click

from bbops.cli._server import of_server, open_remote
from bbops.console import say
from bbops.render import printable


@click.command()
@click.argument("name", required=False)
@of_server
def command(name: str | None, server: str) -> None:
    """Let the newest commit of the project NAME, by default the only one, go live again."""
    with open_remote(server) as remote:
        project = name or remote.only_project()
        was_suspended = remote.resume(project)
    word = "go on" if was_suspended else "were not suspended"
    say(f"publications of {printable(project)} {word}")
