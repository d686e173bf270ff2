"""Serve a folder while you write: each save is live."""

from __future__ import annotations

from pathlib import Path

import click

from bbops.cli._examples import examples
from bbops.errors import ServerError
from bbops_server.commands._options import address_options, require_platform, state_folder


@examples("bbops dev", "bbops dev my-backend --port 9000 --control-port 9001")
@click.command("dev")
@click.argument("folder", default=".", metavar="[DIR]", type=click.Path(path_type=Path))
@address_options
@click.option("--json", "as_json", is_flag=True, help="One line of JSON per event.")
def command(
    folder: Path, host: str, port: int, control_port: int, state: Path | None, *, as_json: bool
) -> None:
    """Serve the files of DIR as they are on disk, committed or not, and reload on save.

    Data is kept apart from that of 'bbops serve', in .bbops/dev; delete that folder to start
    afresh. A 500 tells file and line; while the project has mistakes, its routes answer them.
    """
    require_platform()
    if not (folder / "project.yaml").is_file():
        raise ServerError(
            f"there is no project.yaml in '{folder}'",
            hint="go to a project's folder, or make one with 'bbops init DIR'",
        )
    from bbops_server.commands._run import run_project  # noqa: PLC0415 - after --help
    from bbops_server.reconciler.sources import FolderSource  # noqa: PLC0415
    from bbops_server.settings import ProjectSettings, Settings  # noqa: PLC0415

    settings = Settings(
        state_folder(folder, state, "dev"), mode="dev", host=host, port=port,
        control_port=control_port,
    )  # fmt: skip
    project = ProjectSettings(settings.state, branch="")
    run_project(settings, project, FolderSource(folder.absolute()), as_json=as_json)
