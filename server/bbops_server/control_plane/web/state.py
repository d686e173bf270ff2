"""What every route of the control plane works with: the book of accounts, settings, limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from hmac import compare_digest
from typing import ParamSpec, TypeVar

from bbops.runtime.auth.passwords import DEFAULT_ROUNDS
from bbops_server.accounts.book import Book
from bbops_server.accounts.errors import ControlAway
from bbops_server.accounts.keys import make_key
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.logins import Logins
from bbops_server.accounts.set_up_mark import note_accounts
from bbops_server.control_plane.external_sign_in.providers import Providers
from bbops_server.control_plane.external_sign_in.started import Beginnings
from bbops_server.control_plane.web.draft_access import Admitting
from bbops_server.control_plane.web.known_devices import KnownDevices
from bbops_server.data_plane.gateway.forwarded import Proxies
from bbops_server.git_http.serving import GitHttp
from bbops_server.mcp.fair_queue import OneAtATime
from bbops_server.mcp.oauth.server import OAuth
from bbops_server.publish.projects.protocols import StatusSource
from bbops_server.settings import Settings

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Limits:
    """How often something may be tried; memory of this process, forgotten by a restart."""

    def __init__(self) -> None:
        self.account = Limit(10, 300)
        """Of one account from one network: somebody elsewhere cannot use up the owner's."""
        self.accounts = Limit(100, 300)
        """Of one account from everywhere, but from browsers that it has signed in with."""
        self.address = Limit(50, 300)
        self.signup = Limit(20, 3_600)
        self.codes = Limit(10, 60)
        self.strangers = Limit(1_000, 3_600)
        self.consents = Limit(30, 60)
        self.user_codes, self.shown_codes = Limit(5, 60), Limit(10, 900)
        self.agents, self.grants = Limit(1_200, 60), Limit(600, 60)
        self.work = Limit(60, 60)
        self.addon_tests = Limit(10, 60)
        """Of one project: each asks a vendor with a real key."""


class ControlState:
    """One control plane's. `settings` are asked for each time: a server's file may change them.

    `rounds` is the cost of new passwords; each doubles the work.
    """

    def __init__(
        self, status: StatusSource, book: Book, settings: Callable[[], Settings], local_key: str,
        *, is_set_up: bool = False,
    ) -> None:  # fmt: skip
        """`is_set_up` says that there are accounts, even if none can be read now."""
        self.status, self.book, self._settings = status, book, settings
        self.limits, self.logins = Limits(), Logins()
        self.devices = KnownDevices(settings().state)
        self.beginnings, self.elsewhere = Beginnings(), Providers(settings().state)
        self.rounds = DEFAULT_ROUNDS
        self.git: GitHttp | None = None
        self.admitting: Admitting | None = None
        self.oauth = OAuth(book, settings)
        self.replaying, self.turns = asyncio.Lock(), OneAtATime()
        self._local_key, self._exist = local_key, is_set_up or _has_people(book)
        self._setup_key = "" if self._exist else make_key("bbi")
        self._proxies: tuple[tuple[str, ...], Proxies] = ((), Proxies(()))

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings()

    @property
    def proxies(self) -> Proxies:
        """Whose word about a client's address is taken."""
        given = self.settings.access.proxies
        if given != self._proxies[0]:
            self._proxies = given, Proxies(given)
        return self._proxies[1]

    @property
    def setup_url(self) -> str:
        """The link that creates the first account; empty when there is one."""
        return self.link(f"/setup?token={self._setup_key}") if self._setup_key else ""

    def link(self, path: str) -> str:
        """Return the whole address of a page."""
        return self.settings.control_url + path

    def is_local_key(self, key: str) -> bool:
        """Return whether this is the key in the state folder."""
        return bool(self._local_key) and _is_same(key, self._local_key)

    async def is_setup_key(self, key: str) -> bool:
        """Return whether this is the key of the set-up link, and nobody has an account yet."""
        is_right = bool(self._setup_key) and _is_same(key, self._setup_key)
        return is_right and not await self.is_set_up()

    async def is_set_up(self) -> bool:
        """Return whether somebody has an account; accounts are never deleted."""
        if not self._exist and await self.ask(self.book.people.exist):
            self._exist = True
            await self.ask(note_accounts, self.settings.state)
        return self._exist

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask the book, which blocks, in a thread."""
        return await asyncio.to_thread(call, *args, **kwargs)


def _has_people(book: Book) -> bool:
    """Return whether somebody has an account; a key that is made for nothing opens nothing."""
    try:
        return book.people.exist()
    except ControlAway as error:
        _log.warning("%s; retrying", error.message)
        return False


def _is_same(one: str, other: str) -> bool:
    return compare_digest(one.encode(errors="replace"), other.encode())
