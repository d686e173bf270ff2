"""The options of commands that call a server, and a client with the user's token."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bbops.interfaces.cli._credentials import find_server, find_token
from bbops.interfaces.cli._own_server import check_default, require_own_server

if TYPE_CHECKING:
    from bbops.interfaces.client import Remote

T = TypeVar("T")

DEFAULT_SERVER = "http://127.0.0.1:8001"


def default_server() -> str:
    """Return the server that runs for the current folder, else the usual local address."""
    return find_server() or DEFAULT_SERVER


def require_default_server() -> str:
    """Return that server. Raises: ServerError: it serves other projects than this folder's."""
    require_own_server(url := default_server())
    return url


of_server = click.option(
    "--server", metavar="URL", envvar="BBOPS_SERVER", default=default_server,
    callback=check_default, show_envvar=True,
    show_default=f"the one of this folder, or {DEFAULT_SERVER}",
    help="The control plane of the server.",
)  # fmt: skip
of_project = click.option(
    "--project", metavar="NAME", help="The project, if the server has several."
)
of_draft = click.option(
    "--draft", metavar="BRANCH", help="The draft of this branch instead of the live release."
)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def named_project(function: Callable[..., T]) -> Callable[..., T]:
    """Make a command accept its project as NAME or as --project."""

    @click.argument("name", required=False)
    @of_project
    @wraps(function)
    def wrapped(*args: Any, name: str | None, project: str | None, **more: Any) -> T:
        if name and project and name != project:
            raise click.UsageError(f"two projects are given: '{name}' and --project '{project}'")
        return function(*args, name=name or project, **more)

    return wrapped


def open_remote(url: str) -> Remote:
    """Return a client for a server.

    Raises:
        ServerError: the URL is not valid, or a token would be sent without https.
    """
    from bbops.interfaces.client import Remote  # noqa: PLC0415 - httpx: 100 ms

    return Remote(url, find_token(url.rstrip("/")))
