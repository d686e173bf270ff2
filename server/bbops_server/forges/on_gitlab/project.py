"""A project on GitLab, its credential and the login of the server there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from bbops.base.host import Clock, HttpResponse
from bbops_server.forges.api import MAX_PAGES, PER_PAGE, ForgeApi, decode
from bbops_server.forges.credentials import TokenCredential
from bbops_server.forges.hosted import ForgeError, ForgeGone
from bbops_server.forges.on_gitlab.shapes import GitLabId, GitLabUser
from bbops_server.forges.values import ForgeWebhook, GitCredential, RequestBudget
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding

V4: Final = "/v4"
SCOPE: Final = "api"
"""The scope of a token that the server needs."""

READ: Final = "read_api"

T = TypeVar("T")


class GitLabProject:
    """A project.

    Attributes:
        api: its requests.
        repository: its path, such as `acme/backend/shop`.
    """

    def __init__(
        self, binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy, *,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """Use the project of a binding, with its token."""
        self.url, self.repository = binding.url, binding.repository
        self.credential = TokenCredential(secrets, binding.token_env)
        self.api = ForgeApi(
            f"{binding.url}/api", self.credential, egress, clock=clock,
            headers={"accept": "application/json"},
        )  # fmt: skip
        self._logins: frozenset[str] = frozenset()
        self._id = self._own_id = 0
        self._user_ids: dict[str, int] = {}

    @property
    def requests(self) -> int:
        """The number of requests that were sent."""
        return self.api.requests

    @property
    def budget(self) -> RequestBudget:
        """The requests that are left; unknown without a limit."""
        return self.api.limits.budget()

    async def find_root(self) -> str:
        """Return the project's path in the API, by its number; later calls send no request.

        After a project is renamed, the forge redirects reads of the old path, but rejects writes.
        """
        if not self._id:
            path = f"{V4}/projects/{quote(self.repository, safe='')}"
            self._id = (await self.api.get(path, GitLabId, right=READ)).id
        return f"{V4}/projects/{self._id}"

    def forget_root(self) -> None:
        """Find the project by its path again: the known one is gone."""
        self._id = 0

    async def bot_logins(self) -> frozenset[str]:
        """Return the login of the token's user; later calls send no request."""
        if not self._logins:
            user = await self.api.get(f"{V4}/user", GitLabUser, right=READ)
            self._logins = frozenset({user.username})
            self._own_id = user.id
        return self._logins

    async def own_id(self) -> int:
        """Return the id of the token's user; later calls send no request."""
        await self.bot_logins()
        return self._own_id

    async def login_of(self, subject: str) -> str:
        """Return the login of a user, by the id that sign-in has reported."""
        number = int(subject) if subject.isascii() and subject.isdigit() else 0
        try:
            found = await self.api.get(f"{V4}/users/{number}", GitLabUser, right=READ)
        except ForgeGone:
            raise ForgeGone(f"'{self.url}' has no user with the id '{subject}'") from None
        return found.username

    async def find_user_id(self, login: str) -> int:
        """Return the id of a user; 0 for an unknown login."""
        name = login.lower()
        if name not in self._user_ids:
            path = f"{V4}/users"
            found = await self.api.get(path, list[GitLabUser], right=READ, username=login)
            same = (user.id for user in found if user.username.lower() == name)
            self.remember_user(login, next(same, 0))
        return self._user_ids.get(name, 0)

    def remember_user(self, login: str, number: int) -> None:
        """Keep the id of a user, which never changes, unlike a login."""
        if len(self._user_ids) >= _MAX_USERS:
            self._user_ids.clear()
        if number:
            self._user_ids[login.lower()] = number

    async def git_credential(self) -> GitCredential:
        """Return the credential for git over HTTPS; the forge ignores the user's name."""
        return GitCredential("bbops", await self.credential.token())

    async def aclose(self) -> None:
        """Close the connections."""
        await self.api.aclose()

    async def read_pages(
        self, path: str, form: type[list[T]], *, right: str = READ, may_cut: bool = False,
        **query: str | int,
    ) -> list[T]:  # fmt: skip
        """Return the entries of a list, page by page.

        Links to a next page have the address that the forge knows of itself, which can be another
        one than the client's. So pages are counted.

        Args:
            path: below the API's address.
            form: the type of a page.
            right: the scope or role that it needs, for errors.
            may_cut: whether the entries may end early; otherwise a longer list is a ForgeError.
            query: the parameters.

        Raises:
            ForgeError: the forge rejects a request.
        """
        found = list[T]()
        for page in range(1, MAX_PAGES + 1):
            response = await self.api.read(
                path, right=right, **query, per_page=PER_PAGE, page=page
            )  # fmt: skip
            entries = decode(response, form)
            found.extend(entries)
            if _is_last(response, entries):
                return found
        if not may_cut:
            raise ForgeError(f"{self.api.forge} lists more than {MAX_PAGES} pages at {path}")
        return found


_MAX_USERS: Final = 1_000


def _is_last(response: HttpResponse, entries: Sequence[object]) -> bool:
    following = response.headers.get("x-next-page")
    return not entries if following is None else not following


# ---- The webhook at GitLab that calls the server

ROLE: Final = "the role Maintainer"
_EVENTS: Final = {"push_events": True, "tag_push_events": True, "merge_requests_events": True}


class _Hook(msgspec.Struct):
    id: int
    url: str
    alert_status: str = ""


class GitLabWebhooks(GitLabProject):
    """Creates and reads the webhook; the protocol describes each operation."""

    async def set_webhook(self, address: str, secret: str) -> None:
        """Create the webhook of an address, or replace its secret."""
        path = f"{await self.find_root()}/hooks"
        body = {"url": address, "token": secret, **_EVENTS}
        hook = await self._find_hook(address)
        method, path = ("PUT", f"{path}/{hook.id}") if hook else ("POST", path)
        await self.api.send(method, path, body, right=ROLE)

    async def find_webhook(self, address: str) -> ForgeWebhook | None:
        """Return the webhook of an address, and whether the forge has disabled it."""
        hook = await self._find_hook(address)
        if hook is None:
            return None
        is_disabled = hook.alert_status not in {"", "executable"}
        return ForgeWebhook(address, hook.alert_status.replace("_", " ") if is_disabled else "")

    async def _find_hook(self, address: str) -> _Hook | None:
        path = f"{await self.find_root()}/hooks"
        hooks = await self.read_pages(path, list[_Hook], right=ROLE)
        return next((hook for hook in hooks if hook.url == address), None)
