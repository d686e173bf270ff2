"""Show your account on a server."""

from __future__ import annotations

import json

import click

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import of_server, open_remote


@examples("bbops whoami", "bbops whoami --server https://bbops.example.com")
@click.command()
@of_server
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(server: str, *, as_json: bool) -> None:
    """Show the account with which you are signed in, and its permissions."""
    with open_remote(server) as remote:
        user = remote.whoami()
    if as_json:
        import msgspec  # noqa: PLC0415 - only for this

        say(json.dumps(msgspec.to_builtins(user), indent=2))
        return
    say(f"{printable(user.email)} by {user.how}")
    say(f"  role      {user.role or 'none in the workspace'}")
    for name, role in user.projects.items():
        say(f"  {printable(name)}: {role}")
    if user.scopes:
        say(f"  scopes    {', '.join(user.scopes)}")
