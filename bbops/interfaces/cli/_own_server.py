"""The check that the server at the usual local address serves the project of the current folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bbops.base.addresses import is_here, split
from bbops.base.errors import GitError, ServerError
from bbops.base.render import printable
from bbops.interfaces.cli._credentials import LOCAL_STATES, find_running, find_token

if TYPE_CHECKING:
    from bbops.interfaces.answers import ProjectLine
    from bbops.source.git.store import Store

_MARKS: Final = ("project.yaml", "server.yaml", *(f".bbops/{name}" for name in LOCAL_STATES))
"""The files and folders that make a folder one of a project or of a server."""


def check_default(context: click.Context, option: click.Parameter, url: str) -> str:
    """Return the URL of `--server`; check it if it was neither given nor found in the folder.

    Raises:
        ServerError: as `require_own_server`.
    """
    source = context.get_parameter_source(option.name or "")
    if source is click.core.ParameterSource.DEFAULT and not context.resilient_parsing:
        require_own_server(url)
    return url


def require_own_server(url: str) -> None:
    """Check that a server at the usual address serves the project of the current folder.

    Its server is recognized by a remote of the repository at its address, or by a live commit
    that the repository has. A folder without a project has no server of its own, so any is right;
    a server that does not answer is left to the command, which reports the reason.

    Raises:
        ServerError: the server serves other projects.
    """
    folder = None if find_running() else find_project_folder(Path.cwd())
    if folder is None:
        return
    lines = _list_projects(url)
    if lines is None or _is_served(folder, url, lines):
        return
    names = ", ".join(printable(line.name) for line in lines) or "nothing"
    raise ServerError(
        f"no server runs for the project in '{folder}'; the server at '{url}' serves {names}",
        hint="start one here with 'bbops dev' or 'bbops serve'; if that server is the right one,"
        f" add --server {url}",
    )


def find_project_folder(folder: Path) -> Path | None:
    """Return the nearest folder, from this one up, of a project or of a server's state."""
    folders = (folder, *folder.parents)
    return next((each for each in folders if any((each / mark).exists() for mark in _MARKS)), None)


def _list_projects(url: str) -> list[ProjectLine] | None:
    from bbops.interfaces.client import Remote  # noqa: PLC0415 - httpx: 100 ms

    try:
        with Remote(url, find_token(url)) as remote:
            return remote.projects()
    except ServerError:
        return None


def _is_served(folder: Path, url: str, lines: Iterable[ProjectLine]) -> bool:
    from bbops.source.git.comparing import find_around  # noqa: PLC0415 - GitPython
    from bbops.source.git.revisions import commit_of  # noqa: PLC0415
    from bbops.source.git.store import Store  # noqa: PLC0415

    if (around := find_around(folder)) is None:
        return False
    try:
        store = Store.open(around[0])
        if any(_is_at(remote, url) for remote in _list_remotes(store)):
            return True
        commits = filter(None, (commit_of(line.revision) for line in lines))
        return any(store.find_commit(commit) for commit in commits)
    except GitError:
        return False


def _list_remotes(store: Store) -> Iterator[str]:
    from bbops.source.git.command import run  # noqa: PLC0415 - GitPython

    asked = ("config", "--local", "--get-regexp", r"^remote\..*\.url$")
    listed = run(store.place, asked).output.decode(errors="replace")
    return (line.partition(" ")[2] for line in listed.splitlines())


def _is_at(remote: str, url: str) -> bool:
    """Return whether the repository of a remote is on the local server at a URL."""
    parts, own = split(remote), split(url)
    if parts is None or own is None or not is_here(remote):
        return False
    return is_here(url) and parts.port == own.port
