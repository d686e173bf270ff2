"""Sign in at a server, to use it with other commands."""

from __future__ import annotations

import json
import platform
import sys
import time
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import DEFAULT_SERVER, store

if TYPE_CHECKING:
    from bbops.interfaces.answers import PendingLogin
    from bbops.interfaces.client import Remote

SCOPES = ("read", "deploy", "admin", "git")


@examples("bbops login", "bbops login https://bbops.example.com --scope deploy --scope git")
@click.command()
@click.argument(
    "url", required=False, envvar="BBOPS_SERVER", default=DEFAULT_SERVER, metavar="[URL]"
)
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(SCOPES), default=("deploy",),
    show_default=True, help="What the token is for; deploy includes read, admin includes both.",
)  # fmt: skip
@click.option("--token", "from_stdin", is_flag=True, help="Read a token from stdin instead.")
@click.option("--no-browser", is_flag=True, help="Print the URL instead of opening a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per step.")
def command(
    url: str, scopes: tuple[str, ...], *, from_stdin: bool, no_browser: bool, as_json: bool
) -> None:
    """Sign in at the server whose control plane is at URL, by default the one of this machine.

    Approve the sign-in in the browser that opens. The token is stored in your own settings folder,
    and used by 'bbops status' and every other command with '--server URL'. On a machine without a
    browser, create a token on the account page: 'bbops login URL --token < file'.
    """
    from bbops.interfaces.client import Remote  # noqa: PLC0415 - httpx: 100 ms

    url = url.rstrip("/")
    if from_stdin:
        token = sys.stdin.read(1_000).strip()
        with Remote(url, token) as remote:
            email = remote.whoami().email
    else:
        with Remote(url) as remote:
            login = remote.begin_login(platform.node()[:100], list(scopes))
            opener = None if no_browser else webbrowser.open
            _request_approval(login, as_json=as_json, opener=opener)
            token, email = _wait(remote, login)
    path = store(url, token, email)
    if as_json:
        say(json.dumps({"event": "signed in", "server": url, "email": email}))
    else:
        say(f"signed in at {url} as {email}; the token is in '{path}'")


def _request_approval(
    login: PendingLogin, *, as_json: bool, opener: Callable[[str], bool] | None
) -> None:
    if as_json:
        say(json.dumps({"event": "approve", "url": login.url, "code": login.code}))
    else:
        say(
            f"open this in a browser, and approve it if it shows the code "
            f"{login.code}:\n\n    {login.url}\n"
        )
    sys.stdout.flush()
    if opener is not None and sys.stdout.isatty():
        opener(login.url)


def _wait(remote: Remote, login: PendingLogin) -> tuple[str, str]:
    """Return the token and the e-mail address once the user has approved the sign-in.

    Raises:
        ServerError: the user has rejected it, or has not approved it in time.
    """
    while True:
        outcome = remote.poll_login(login.device)
        if outcome.status == "approved":
            return outcome.token, outcome.email
        if outcome.status == "denied":
            raise ServerError("the sign-in was refused in the browser")
        if outcome.status == "expired":
            raise ServerError(
                "the sign-in was not approved in time", hint="start again: bbops login"
            )
        time.sleep(login.interval_seconds)
