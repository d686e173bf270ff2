"""Open the control plane of a server: its book of accounts, its key for this machine's user."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bbops.base.errors import DatabaseError, ServerError
from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.book import Book
from bbops_server.accounts.errors import ControlAway
from bbops_server.accounts.set_up_mark import note_accounts, note_opened, refuse_nobody
from bbops_server.control_plane.app import create_control
from bbops_server.control_plane.sign_in.local import remove_local_key, write_local_key
from bbops_server.control_plane.web.closed import closed
from bbops_server.control_plane.web.draft_access import Admitting
from bbops_server.control_plane.web.state import ControlState
from bbops_server.git_http import repository
from bbops_server.git_http.serving import GitHttp
from bbops_server.process.host.files import CONTROL_FILE, record_schema
from bbops_server.process.sockets.serving import SocketServer
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.projects.protocols import StatusSource

_IDLE_SECONDS: Final = 1.0
"""How long a connection without a request keeps the next server waiting; browsers have some."""

_LAST_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Control:
    """The control plane of a server that runs; `setup_url` creates the first account."""

    server: SocketServer
    state: Path
    setup_url: str = ""
    book: Book | None = None
    git: GitHttp | None = None
    admitting: Admitting | None = None

    def begin(self) -> None:
        """Let the members of projects into their drafts."""
        if self.admitting is not None:
            self.admitting.begin()

    async def hand_over(self, seconds: float) -> None:
        """Answer what was asked, and close the book; whoever comes next waits for a successor."""
        await self.server.leave(seconds, idle_seconds=_IDLE_SECONDS)
        await self._close(_LAST_SECONDS)

    async def stop(self, grace_seconds: float) -> None:
        """Answer what was asked, and close the book."""
        await self._close(grace_seconds)
        if self.book is not None:
            remove_local_key(self.state)

    async def _close(self, grace_seconds: float) -> None:
        if self.admitting is not None:
            await self.admitting.stop()
        if self.git is not None:
            await self.git.stop()
        await self.server.stop(grace_seconds)
        if self.book is not None:
            await asyncio.to_thread(self.book.close)


class Projects(StatusSource, repository.Projects, Protocol):
    """What is told of the projects, and what follows them."""


def open_control(
    plane: Plane, projects: Projects, *, must_exist: bool = False, goes_on: bool = False
) -> Control:
    """Return the control plane, ready to listen. Blocks.

    Where its accounts cannot be used it says nothing but that: the projects go on.

    Args:
        plane: the data plane.
        projects: what is told of, and followed.
        must_exist: whether there are accounts already, so that set-up stays closed.
        goes_on: whether the address was handed over by a server before.

    Raises:
        BbopsError: the state folder cannot be used.
    """
    settings = plane.settings
    accounts = settings.accounts
    try:
        book = _open_book(settings.state, accounts, must_exist=must_exist)
    except DatabaseError as error:
        _log.error("the control plane is closed: %s; %s", error.message, error.hint)
        return Control(SocketServer(closed), settings.state)
    note_opened(settings.state)
    record_schema(settings.state, accounts.schema if accounts else None, CONTROL_FILE)
    try:
        here, shown = settings.control_here, settings.control_url
        key = write_local_key(settings.state, here, shown, goes_on=goes_on)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write into '{settings.state}': {reason}") from None
    control = ControlState(projects, book, lambda: plane.settings, key, is_set_up=must_exist)
    git = control.git = GitHttp(plane.build, projects, settings.state / "git", book.proposals)
    admitting = control.admitting = Admitting(book, plane.awake.admit)
    server = SocketServer(create_control(control))
    return Control(server, settings.state, control.setup_url, book, git, admitting)


def _open_book(state: Path, accounts: PostgresPlace | None, *, must_exist: bool) -> Book:
    book = Book.open(state, postgres=accounts, must_exist=must_exist)
    try:
        has_people = book.people.exist()
    except ControlAway as error:  # of a database elsewhere, which may come back
        _log.warning("%s; retrying", error.message)
        return book
    if has_people:
        note_accounts(state)
    elif must_exist:
        book.close()
        raise refuse_nobody()
    return book
