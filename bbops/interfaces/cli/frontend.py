"""Publish built files with a project's API, without a commit of the project."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote
from bbops.interfaces.cli._target import print_list

_ANY_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of each file in an archive: the same files give the same bytes."""
_SERVED = ".well-known"


@examples("bbops frontend list", "bbops frontend publish dist")
@click.group(cls=CommandGroup)
def command() -> None:
    """Publish built files with a project's API, without a commit of the project.

    The server stores them as a tag 'frontend/v<N>' of the repository. If the commits of a project
    contain its built files, each commit publishes them, and these commands are not needed.
    """


@examples("bbops frontend publish dist", 'bbops frontend publish dist --message "New start page"')
@command.command("publish")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--message", "-m", default="Publish the frontend", help="The commit message.")
@of_project
@of_server
@as_json_option
def publish(folder: Path, message: str, project: str | None, server: str, *, as_json: bool) -> int:
    """Publish the files in FOLDER, such as dist, replacing the current ones; for maintainers.

    Exits with 0 if they are live, with 1 if they are not.
    """
    archive = _pack(folder)
    with open_remote(server) as remote:
        result = remote.publish_frontend(project or remote.only_project(), archive, message)
    if as_json:
        say(json.dumps({"version": result.version, "commit": result.commit,
                        "live": result.is_live, "message": result.message}))  # fmt: skip
    else:
        state = "live" if result.is_live else f"not live: {printable(result.message)}"
        say(f"{result.version}  {result.commit[:12]}  {state}")
    return 0 if result.is_live else 1


@examples("bbops frontend list", "bbops frontend list --project shop")
@command.command("list")
@of_project
@of_server
@as_json_option
def show(project: str | None, server: str, *, as_json: bool) -> None:
    """List the frontends that were published separately, newest first."""
    with open_remote(server) as remote:
        frontends = remote.frontends(project or remote.only_project())
    print_list(frontends, _line, none="no frontend has been published separately", as_json=as_json)


def _line(frontend: Mapping[str, str]) -> str:
    return f"{frontend['name']}  {frontend['at']}  {printable(frontend['subject'])}"


def _pack(folder: Path) -> bytes:
    """Return a zip archive of a folder; the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            archive.writestr(
                zipfile.ZipInfo(name, _ANY_DATE), path.read_bytes(), zipfile.ZIP_DEFLATED
            )
    if not buffer.getvalue() or not _has_files(buffer):
        raise BbopsError(f"there are no files in '{folder}'", hint="build the frontend first")
    return buffer.getvalue()


def _has_files(buffer: io.BytesIO) -> bool:
    return bool(zipfile.ZipFile(buffer).namelist())


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files that are served: no links, no file whose name begins with a dot."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or (path.name.startswith(".") and path.name != _SERVED):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path
