"""Sign out from a server: revoke its token and delete it here."""

from __future__ import annotations

import json

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import forget, of_server, read_all


@examples("bbops logout", "bbops logout --server https://bbops.example.com")
@click.command()
@of_server
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(server: str, *, as_json: bool) -> None:
    """Revoke the token of a server and delete it here; if the server is gone, only delete it."""
    from bbops.interfaces.client import Remote  # noqa: PLC0415 - httpx: 100 ms

    url = server.rstrip("/")
    stored = read_all().get(url)
    if stored is None:
        raise ServerError(f"you are not signed in to '{url}'")
    revoked = True
    try:
        with Remote(url, stored["token"]) as remote:
            remote.logout()
    except ServerError:
        revoked = False
    forget(url)
    if as_json:
        say(json.dumps({"server": url, "revoked": revoked}))
    else:
        say(f"signed out at {url}" + ("" if revoked else "; the server did not revoke the token"))
