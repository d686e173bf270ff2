"""Have a server try the newest commit now."""

from __future__ import annotations

import json

import click

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._server import as_json_option, named_project, of_server, open_remote


@examples("bbops reconcile", "bbops reconcile shop")
@click.command()
@named_project
@of_server
@as_json_option
def command(name: str | None, server: str, *, as_json: bool) -> None:
    """Make the project NAME, by default the only one, publish its newest commit now.

    It fetches the repository at once and retries what has stalled, including a migration that took
    too long, which a restart does not retry. 'bbops status' shows the result.
    """
    with open_remote(server) as remote:
        project = name or remote.only_project()
        remote.reconcile(project)
    if as_json:
        say(json.dumps({"project": project, "reconciling": True}))
        return
    say(f"{printable(project)} is publishing its newest commit; 'bbops status' shows the progress")
