"""Serve a commit that is held because its history was rewritten."""

from __future__ import annotations

import json

import click

from bbops.cli._server import as_json_option, of_server, open_remote
from bbops.console import say
from bbops.errors import ServerError


@click.command()
@click.argument("commit")
@click.option("--project", metavar="NAME", help="The project, where a server has several.")
@of_server
@as_json_option
def command(commit: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Let a server serve COMMIT, which does not follow the commit that is live.

    A forced push to a repository that others push to is held with the reason HistoryRewritten;
    'bbops status' shows it. The decision holds for what follows COMMIT, too.
    """
    with open_remote(server) as remote:
        if project is None:
            project = _only(server, [one.name for one in remote.projects()])
        remote.accept(project, commit)
    if as_json:
        say(json.dumps({"project": project, "accepted": commit}))
        return
    say(f"accepted {commit}; 'bbops status' says when it is live")


def _only(server: str, names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    raise ServerError(
        f"the server at '{server}' has {len(names)} projects",
        hint=f"name one with --project: {', '.join(names)}" if names else "",
    )
