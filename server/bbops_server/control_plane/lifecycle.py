"""Open and stop the control plane of a server: its accounts, its local key and its routes."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops.base.errors import DatabaseError, ServerError
from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.book import Book
from bbops_server.accounts.set_up_mark import note_accounts, note_opened, refuse_nobody
from bbops_server.accounts.text_rules import ControlAway
from bbops_server.control_plane.app import create_control
from bbops_server.control_plane.sign_in.local import remove_local_key, write_local_key
from bbops_server.control_plane.web.broadcasts import Broadcasts
from bbops_server.control_plane.web.draft_access import DraftMembership
from bbops_server.control_plane.web.refusals import send_unavailable
from bbops_server.control_plane.web.state import ControlState
from bbops_server.git_http.serving import GitHttp
from bbops_server.process.host.files import CONTROL_FILE, record_schema
from bbops_server.process.sockets.serving import SocketServer
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.projects.projects import ServerProjects

_IDLE_SECONDS: Final = 1.0
"""The time for which an idle connection delays the successor; browsers keep some open."""

_STOP_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Control:
    """The running control plane of a server; `setup_url` creates the first account."""

    server: SocketServer
    state: Path
    setup_url: str = ""
    book: Book | None = None
    git: GitHttp | None = None
    membership: DraftMembership | None = None
    broadcasts: Broadcasts | None = None

    def begin(self) -> None:
        """Start to publish the members of projects to the data processes."""
        if self.membership is not None:
            self.membership.begin()

    async def hand_over(self, seconds: float) -> None:
        """Finish running requests and close the accounts; new ones wait for the successor."""
        self._end_live_views()
        await self.server.leave(seconds, idle_seconds=_IDLE_SECONDS)
        await self._close(_STOP_SECONDS)

    async def stop(self, grace_seconds: float) -> None:
        """Finish running requests, close the accounts and remove the local key."""
        await self._close(grace_seconds)
        if self.book is not None:
            remove_local_key(self.state)

    def _end_live_views(self) -> None:
        """End the streams that would otherwise last as long as their pages."""
        if self.broadcasts is not None:
            self.broadcasts.close()

    async def _close(self, grace_seconds: float) -> None:
        self._end_live_views()
        if self.membership is not None:
            await self.membership.stop()
        if self.git is not None:
            await self.git.stop()
        await self.server.stop(grace_seconds)
        if self.book is not None:
            await asyncio.to_thread(self.book.close)


def open_control(
    plane: Plane,
    projects: ServerProjects,
    *,
    must_exist: bool = False,
    is_handed_over: bool = False,
) -> Control:
    """Return the control plane, ready to listen. Blocks.

    If the accounts cannot be used, every request gets 503; the projects keep serving.

    Args:
        plane: the data plane.
        projects: status and repositories of the projects.
        must_exist: whether there are accounts already, so that set-up stays closed.
        is_handed_over: whether the server has taken over the socket of a predecessor.

    Raises:
        BbopsError: the state folder cannot be used.
    """
    settings = plane.settings
    accounts = settings.accounts
    try:
        book = _open_book(settings.state, accounts, must_exist=must_exist)
    except DatabaseError as error:
        _log.error("the control plane is closed: %s; %s", error.message, error.hint)
        return Control(SocketServer(send_unavailable), settings.state)
    note_opened(settings.state)
    record_schema(settings.state, accounts.schema if accounts else None, CONTROL_FILE)
    try:
        here, shown = settings.control_here, settings.control_url
        key = write_local_key(settings.state, here, shown, is_handed_over=is_handed_over)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write into '{settings.state}': {reason}") from None
    control = ControlState(projects, book, lambda: plane.settings, key, is_set_up=must_exist)
    git = control.git = GitHttp(plane.build, projects, settings.state / "git", book.proposals)
    membership = control.membership = DraftMembership(
        book, plane.awake.admit, projects.recheck_decisions
    )
    server = SocketServer(create_control(control))
    return Control(
        server, settings.state, control.setup_url, book, git, membership, control.broadcasts
    )


def _open_book(state: Path, accounts: PostgresPlace | None, *, must_exist: bool) -> Book:
    book = Book.open(state, postgres=accounts, must_exist=must_exist)
    try:
        has_people = book.people.exist()
    except ControlAway as error:  # a remote database that is unavailable
        _log.warning("%s; retrying", error.message)
        return book
    if has_people:
        note_accounts(state)
    elif must_exist:
        book.close()
        raise refuse_nobody()
    return book
