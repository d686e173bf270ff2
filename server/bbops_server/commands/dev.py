"""Serve a folder while you write: each save is live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.cli._command_group import examples
from bbops_server.commands._settings import (
    address_options,
    given_options,
    make_settings,
    require_platform,
    settings_option,
    state_folder,
)

if TYPE_CHECKING:
    from bbops_server.settings.server_file.model import ServerFile

_OF_SERVER = ("host", "port", "control_port")
_NOT_HERE = {
    "database": "the data is in files of its own, in .bbops/dev",
    "drafts": "there are no branches, only the folder",
}
"""Keys of settings that would do nothing here, and why."""


@examples("bbops dev", "bbops dev my-backend --port 9000 --control-port 9001")
@click.command("dev")
@click.argument("folder", default=".", metavar="[DIR]", type=click.Path(path_type=Path))
@address_options
@settings_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print one line of JSON per event and request."
)
@click.pass_context
def command(
    context: click.Context, /, folder: Path, state: Path | None, file: Path | None, *,
    as_json: bool, **_of_server: Any,
) -> None:  # fmt: skip
    """Serve the files of DIR as they are on disk, committed or not, and reload on save.

    Each request is a line: method, path, status, how long it took, and of an error the code, file
    and line. Data and values are kept apart from those of 'bbops serve', in .bbops/dev; delete that
    folder to start afresh. A 500 response names file and line; while the project has mistakes, its
    routes answer them.
    """
    require_platform()
    if not (folder / "project.yaml").is_file():
        raise ServerError(
            f"project.yaml is missing in '{folder}'",
            hint="go to a project's folder, or make one with 'bbops init DIR'",
        )
    from bbops_server.commands._run import run_project  # noqa: PLC0415 - after --help
    from bbops_server.publish.sources.sources import FolderSource  # noqa: PLC0415
    from bbops_server.settings import ProjectSettings  # noqa: PLC0415

    given = given_options(context)
    own = {"mode": "dev"} | {name: given[name] for name in _OF_SERVER if name in given}
    settings, followed = make_settings(file, state_folder(folder, state, "dev"), own)
    if followed is not None:
        _require_fit(followed[0])
    project = ProjectSettings(settings.state, branch="")
    source = FolderSource(folder.absolute())
    run_project(settings, project, source, as_json=as_json, file=followed)


def _require_fit(file: ServerFile) -> None:
    """Refuse settings that would do nothing. Raises: BbopsError: there is one."""
    for name, why in _NOT_HERE.items():
        if name in file.model_fields_set:
            raise BbopsError(
                f"'{name}' is a setting of 'bbops serve' only: {why}",
                hint="remove it from the file given to 'bbops dev --settings'",
            )
