"""The settings of `serve` and `dev`: options, and a file of settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from bbops.base.addresses import split
from bbops.base.errors import ProjectError, ServerError

if TYPE_CHECKING:
    from bbops_server.publish.projects.file_follower import FileOptions
    from bbops_server.settings import Settings
    from bbops_server.settings.server_file.model import ServerFile

    Followed = tuple[ServerFile, FileOptions]

settings_option = click.option(
    "--settings", "file", metavar="FILE", type=click.Path(path_type=Path),
    help="Settings of server.yaml besides projects; changes apply while the server runs.",
)  # fmt: skip


def make_settings(
    file: Path | None, state: Path, own: Mapping[str, Any], *, poll_seconds: float = 30.0
) -> tuple[Settings, Followed | None]:
    """Return a server's settings, and what is followed of them while it runs.

    Args:
        file: what `--settings` names.
        state: the folder.
        own: what the command line says, which comes before the file.
        poll_seconds: how often a repository elsewhere is looked at.

    Raises:
        ProjectError: the file has mistakes.
    """
    from bbops_server.settings import Settings  # noqa: PLC0415 - after --help

    if file is None:  # models are not imported without one: the first answer would wait for them
        return Settings(state, **own), None
    from bbops_server.publish.projects.file_follower import FileOptions  # noqa: PLC0415
    from bbops_server.settings.server_file.settings import server_settings  # noqa: PLC0415

    read = read_settings(file)
    return server_settings(read, state, own), (
        read,
        FileOptions(file.absolute(), poll_seconds, own),
    )


def read_settings(path: Path) -> ServerFile:
    """Return the settings in a file.

    Raises:
        ProjectError: it has errors.
    """
    from bbops_server.settings.server_file.load import read_file  # noqa: PLC0415
    from bbops_server.settings.server_file.model import LoneFile  # noqa: PLC0415

    read = read_file(path, form=LoneFile)
    if read.file is None:
        raise ProjectError(read.diagnostics)
    return read.file


def given_options(context: click.Context) -> dict[str, Any]:
    """Return the given options, without defaults."""
    defaults = {ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP}
    return {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) not in defaults
    }


# ---- Options that `serve` and `dev` share, and the Settings they make

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
        click.BadParameter: it is not an https address.
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
    """Refuse to run on unsupported systems.

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
    """Return the state folder, created for this user only.

    By default it is in `.bbops/` of the work tree, which git ignores, because the state must never
    be committed. For a bare repository it is in the current folder, for a file of several projects
    beside the file.
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
