"""What a server of one project is told: by its command line, and by a file of settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bbops.base.errors import ProjectError

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
    """Return what a file of settings says.

    Raises:
        ProjectError: it has mistakes.
    """
    from bbops_server.settings.server_file.load import read_file  # noqa: PLC0415
    from bbops_server.settings.server_file.model import LoneFile  # noqa: PLC0415

    read = read_file(path, form=LoneFile)
    if read.file is None:
        raise ProjectError(read.diagnostics)
    return read.file


def given_options(context: click.Context) -> dict[str, Any]:
    """Return the options that somebody gave, without those that have their default."""
    defaults = {ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP}
    return {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) not in defaults
    }
