"""Options that `serve` and `dev` share, and the Settings they make."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from bbops.base.addresses import split
from bbops.base.errors import ServerError

F = TypeVar("F", bound=Callable[..., Any])


def address_options(function: F) -> F:
    """Add --host, --port, --control-port and --state."""
    for option in (
        click.option("--state", type=click.Path(path_type=Path), metavar="DIR",
                     help="Where data, artifacts and secrets live."),
        click.option("--control-port", default=8001, show_default=True, metavar="PORT",
                     help="Port of the control plane, on loopback. 0 picks a free one."),
        click.option("--port", default=8000, show_default=True, metavar="PORT",
                     help="Port of the project's API. 0 picks a free one."),
        click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
                     help="Address the project's API listens on."),
    ):  # fmt: skip
        function = option(function)
    return function


def check_url(_: click.Context, __: click.Parameter, value: str) -> str:
    """Return the address of an option without a trailing slash.

    Raises:
        click.BadParameter: it is no address of https.
    """
    if not value:
        return ""
    parts = split(value)
    if parts is None or (parts.scheme, parts.path.strip("/")) != ("https", "") or not parts.netloc:
        raise click.BadParameter(
            f"expected an address such as https://bbops.example.com, got '{value}'"
        )
    return value.rstrip("/")


def require_platform() -> None:
    """Refuse where the server cannot run.

    Raises:
        ServerError: this is Windows.
    """
    if sys.platform == "win32":
        raise ServerError(
            "the server does not run on Windows",
            hint="use it in WSL (wsl --install); 'bbops validate' and 'bbops init' run here",
        )


def state_folder(
    repository: Path, state: Path | None, name: str = "state", *, inside: Path | None = None
) -> Path:
    """Return the state folder, made for this user alone.

    Inside a work tree by default, in `.bbops/`, which tells git to ignore it: what lies there must
    never be committed. A bare repository's is in the current folder, that of a file of several
    projects beside it.
    """
    inside = inside or (repository if (repository / ".git").exists() else Path.cwd())
    folder = (state or inside / ".bbops" / name).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if state is None and not (ignore := folder.parent / ".gitignore").exists():
            ignore.write_text("*\n")
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ServerError(
            f"cannot write the state folder '{folder}': {os.strerror(error.errno or 0).lower()}",
            hint="choose another with --state DIR",
        ) from None
    return folder
