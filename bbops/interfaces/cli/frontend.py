"""Publish built files beside a project's API, without a commit of the project."""

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
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote

_SOME_DAY = (1980, 1, 1, 0, 0, 0)
_SHOWN = ".well-known"


@examples("bbops frontend list", "bbops frontend publish dist")
@click.group(cls=Family)
def command() -> None:
    """Publish built files beside a project's API, without a commit of the project.

    The server keeps them as a tag 'frontend/v<N>' of the repository. Where the commits of a project
    hold its built files, these are published with each of them, and this is not needed.
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

    Exits with 0 once they are live, with 1 when they are not.
    """
    archive = _pack(folder)
    with open_remote(server) as remote:
        done = remote.publish_frontend(project or remote.only_project(), archive, message)
    if as_json:
        say(json.dumps({"version": done.version, "commit": done.commit, "live": done.is_live,
                        "message": done.message}))  # fmt: skip
    else:
        how = "live" if done.is_live else f"not live: {printable(done.message)}"
        say(f"{done.version}  {done.commit[:12]}  {how}")
    return 0 if done.is_live else 1


@examples("bbops frontend list", "bbops frontend list --project shop")
@command.command("list")
@of_project
@of_server
@as_json_option
def show(project: str | None, server: str, *, as_json: bool) -> None:
    """List the frontends that were published separately, newest first."""
    with open_remote(server) as remote:
        found = remote.frontends(project or remote.only_project())
    say_list(found, _line, none="no frontend has been published separately", as_json=as_json)


def _line(one: Mapping[str, str]) -> str:
    return f"{one['name']}  {one['at']}  {printable(one['subject'])}"


def _pack(folder: Path) -> bytes:
    """Return a zip archive of a folder, the same for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            archive.writestr(
                zipfile.ZipInfo(name, _SOME_DAY), path.read_bytes(), zipfile.ZIP_DEFLATED
            )
    if not made.getvalue() or not _has_files(made):
        raise BbopsError(f"there are no files in '{folder}'", hint="build the frontend first")
    return made.getvalue()


def _has_files(made: io.BytesIO) -> bool:
    return bool(zipfile.ZipFile(made).namelist())


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files that are served: no links, nothing whose name begins with a dot."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or (path.name.startswith(".") and path.name != _SHOWN):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path
