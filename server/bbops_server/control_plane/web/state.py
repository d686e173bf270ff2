"""The state that all routes share: accounts, settings, rate limits and keys."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from hmac import compare_digest
from typing import ParamSpec, TypeVar

from bbops.interfaces.answers import Status
from bbops.runtime.auth.passwords import DEFAULT_ROUNDS
from bbops_server.accounts.book import Book
from bbops_server.accounts.keys import make_key
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.logins import Logins
from bbops_server.accounts.set_up_mark import note_accounts
from bbops_server.accounts.text_rules import ControlAway
from bbops_server.control_plane.external_sign_in.issuers import Issuers
from bbops_server.control_plane.external_sign_in.provider_http import PendingSignIns
from bbops_server.control_plane.external_sign_in.providers import Providers
from bbops_server.control_plane.web.broadcasts import Broadcasts
from bbops_server.control_plane.web.draft_access import DraftMembership
from bbops_server.control_plane.web.known_devices import KnownDevices
from bbops_server.control_plane.web.outlines import OutlineCache
from bbops_server.data_plane.gateway.gateway import Proxies
from bbops_server.git_http.serving import GitHttp
from bbops_server.mcp.fair_queue import OneAtATime
from bbops_server.mcp.oauth.server import OAuth
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.settings import Settings

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class ControlLimits:
    """Rate limits of the control plane, in memory: a restart resets them."""

    def __init__(self) -> None:
        self.account = Limit(10, 300)
        """For an account and a network: attempts from other networks do not lock the owner out."""
        self.accounts = Limit(100, 300)
        """For an account from all networks, except from browsers with which it has signed in."""
        self.address = Limit(50, 300)
        self.signup = Limit(20, 3_600)
        self.codes = Limit(10, 60)
        self.anonymous = Limit(1_000, 3_600)
        self.consents = Limit(30, 60)
        self.user_codes, self.shown_codes = Limit(5, 60), Limit(10, 900)
        self.agents, self.grants = Limit(1_200, 60), Limit(600, 60)
        self.work = Limit(60, 60)
        self.playground = Limit(60, 60)
        """For a user: requests of the Playground."""
        self.workflows = Limit(50, 300)
        """For a network: identity tokens of workflows, since the last accepted one."""
        self.hooks = Limit(50, 300)
        """For a network: webhooks of forges, since the last one with a valid signature."""
        self.addon_tests = Limit(10, 60)
        """For a project: each test sends a request to a vendor with a real key."""


class ControlState:
    """The state of a control plane. `settings` is called each time, since a file may change them.

    `rounds` is the cost of new password hashes; each more doubles the work.
    """

    def __init__(
        self, status: ServerProjects, book: Book, settings: Callable[[], Settings], local_key: str,
        *, is_set_up: bool = False,
    ) -> None:  # fmt: skip
        """`is_set_up` says that accounts exist, even if they cannot be read now."""
        self.status, self.book, self._settings = status, book, settings
        self.outlines = OutlineCache(lambda: self.status)
        self.limits, self.logins = ControlLimits(), Logins()
        self.broadcasts = Broadcasts()
        self.devices = KnownDevices(settings().state)
        self.pending_sign_ins, self.providers = PendingSignIns(), Providers(settings().state)
        self.issuers, self.rounds = Issuers(), DEFAULT_ROUNDS
        self.git: GitHttp | None = None
        self.membership: DraftMembership | None = None
        self.oauth = OAuth(book, settings)
        self.running_requests: Counter[str] = Counter()
        """Requests of the Playground that run now, by user."""
        self.replay_lock, self.turns = asyncio.Lock(), OneAtATime()
        self._local_key, self._has_accounts = local_key, is_set_up or _has_people(book)
        self._setup_key = "" if self._has_accounts else make_key("bbi")
        self._proxies: tuple[tuple[str, ...], Proxies] = ((), Proxies(()))

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self._settings()

    @property
    def proxies(self) -> Proxies:
        """The proxies whose forwarded addresses are trusted."""
        addresses = self.settings.access.proxies
        if addresses != self._proxies[0]:
            self._proxies = addresses, Proxies(addresses)
        return self._proxies[1]

    @property
    def setup_url(self) -> str:
        """The link that creates the first account; empty when there is one."""
        return self.link(f"/setup?token={self._setup_key}") if self._setup_key else ""

    def project(self, name: str) -> Status | None:
        """Return the status of a project; None if it does not exist."""
        return next((each for each in self.status.projects() if each.name == name), None)

    def link(self, path: str) -> str:
        """Return the absolute URL of a path."""
        return self.settings.control_url + path

    def is_local_key(self, key: str) -> bool:
        """Return whether this is the key in the state folder."""
        return bool(self._local_key) and _is_same(key, self._local_key)

    async def is_setup_key(self, key: str) -> bool:
        """Return whether this is the key of the set-up link, and no account exists."""
        is_right = bool(self._setup_key) and _is_same(key, self._setup_key)
        return is_right and not await self.is_set_up()

    async def is_set_up(self) -> bool:
        """Return whether an account exists; accounts are never deleted."""
        if not self._has_accounts and await self.run(self.book.people.exist):
            self._has_accounts = True
            await self.run(note_accounts, self.settings.state)
        return self._has_accounts

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking call, such as a query of the accounts, in a thread."""
        return await asyncio.to_thread(call, *args, **kwargs)


def _has_people(book: Book) -> bool:
    """Return whether an account exists; False if the accounts cannot be read."""
    try:
        return book.people.exist()
    except ControlAway as error:
        _log.warning("%s; retrying", error.message)
        return False


def _is_same(key: str, other: str) -> bool:
    return compare_digest(key.encode(errors="replace"), other.encode())
