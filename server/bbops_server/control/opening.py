"""Open the control plane of a server: its book of accounts, its key for this machine's user."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bbops.errors import ServerError
from bbops_server.accounts.book import Book
from bbops_server.control.app import create_control
from bbops_server.control.desk import Desk
from bbops_server.control.local import remove_local_key, write_local_key
from bbops_server.githttp import repository
from bbops_server.githttp.serving import GitHttp
from bbops_server.host.files import CONTROL_FILE, note_schema
from bbops_server.live.plane import Plane
from bbops_server.reconciler.asked import StatusSource
from bbops_server.serving import Server


@dataclass(frozen=True, slots=True)
class Control:
    """The control plane of a server that runs; `setup_url` makes the first account."""

    server: Server
    book: Book
    state: Path
    git: GitHttp
    setup_url: str

    async def stop(self, grace_seconds: float) -> None:
        """Answer what was asked, and close the book."""
        await self.git.stop()
        await self.server.stop(grace_seconds)
        await asyncio.to_thread(self.book.close)
        remove_local_key(self.state)


class Projects(StatusSource, repository.Projects, Protocol):
    """What is told of the projects, and what follows them."""


def open_control(plane: Plane, projects: Projects) -> Control:
    """Return the control plane, ready to listen. Blocks.

    Raises:
        BbopsError: the control database or the state folder cannot be used.
    """
    settings = plane.settings
    accounts = settings.accounts
    book = Book.open(settings.state, postgres=accounts)
    note_schema(settings.state, accounts.schema if accounts else None, CONTROL_FILE)
    try:
        key = write_local_key(settings.state, settings.control_here, settings.control_url)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write into '{settings.state}': {reason}") from None
    desk = Desk(projects, book, lambda: plane.settings, key)
    git = desk.git = GitHttp(plane.build, projects, settings.state / "git", book.proposals)
    return Control(Server(create_control(desk)), book, settings.state, git, desk.setup_url)
