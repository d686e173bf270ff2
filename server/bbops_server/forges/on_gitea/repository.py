"""A repository on Gitea or Forgejo, its credential and the login of the server there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from bbops.base.host import Clock, HttpResponse
from bbops_server.forges.api import ForgeApi, decode
from bbops_server.forges.credentials import TokenCredential
from bbops_server.forges.hosted import ForgeError, ForgeGone
from bbops_server.forges.on_gitea.shapes import GiteaUser
from bbops_server.forges.values import ForgeWebhook, GitCredential, RequestBudget
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding

PAGE_SIZE: Final = 50
"""The most entries of a page by default; a forge may set a lower limit."""

MAX_PAGES: Final = 40
READ: Final = "read:repository"
WRITE: Final = "write:repository"
USERS: Final = "read:user"

T = TypeVar("T")
P = TypeVar("P")


class _FoundUsers(msgspec.Struct):
    data: list[GiteaUser] | None = None


class GiteaRepository:
    """A repository.

    Attributes:
        api: its requests.
        kind: `gitea` or `forgejo`.
        repository: its path, such as `acme/shop`.
        root: its path in the API.
    """

    def __init__(
        self, binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy, *,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """Use the repository of a binding, with its token."""
        self.kind, self.url, self.repository = binding.kind, binding.url, binding.repository
        self.root = f"/repos/{quote(binding.repository)}"
        self.credential = TokenCredential(secrets, binding.token_env, scheme="token")
        self.api = ForgeApi(
            f"{binding.url}/api/v1", self.credential, egress,
            headers={"accept": "application/json"}, root=self.root, clock=clock,
            moves_writes=True,
        )  # fmt: skip
        self._logins: frozenset[str] = frozenset()

    @property
    def requests(self) -> int:
        """The number of requests that were sent."""
        return self.api.requests

    @property
    def budget(self) -> RequestBudget:
        """The requests that are left; unknown without a limit."""
        return self.api.limits.budget()

    async def bot_logins(self) -> frozenset[str]:
        """Return the login of the token's user; later calls send no request."""
        if not self._logins:
            user = await self.api.get("/user", GiteaUser, right=USERS)
            self._logins = frozenset({user.login})
        return self._logins

    async def login_of(self, subject: str) -> str:
        """Return the login of a user, by the id that sign-in has reported."""
        number = int(subject) if subject.isascii() and subject.isdigit() else 0
        if number > 0:  # other values would list all users
            found = await self.api.get("/users/search", _FoundUsers, right=USERS, uid=number)
            for user in found.data or ():
                if user.id == number:
                    return user.login
        raise ForgeGone(f"'{self.url}' has no user with the id '{subject}'")

    async def git_credential(self) -> GitCredential:
        """Return the credential for git over HTTPS; the forge ignores the user's name."""
        return GitCredential("bbops", await self.credential.token())

    async def aclose(self) -> None:
        """Close the connections."""
        await self.api.aclose()

    async def read_pages(
        self, path: str, form: type[P], items: Callable[[P], Sequence[T]], *, right: str = READ,
        may_cut: bool = False, **query: str | int,
    ) -> list[T]:  # fmt: skip
        """Return the entries of a list, page by page.

        Not every list of the forge has links to its next page, but each has its total.

        Args:
            path: below the API's address.
            form: the type of a page.
            items: returns the entries of a page.
            right: the scope that it needs, for errors.
            may_cut: whether the entries may end early; otherwise a longer list is a ForgeError.
            query: the parameters.

        Raises:
            ForgeError: the forge rejects a request.
        """
        found = list[T]()
        for page in range(1, MAX_PAGES + 1):
            response = await self.api.read(path, right=right, **query, page=page, limit=PAGE_SIZE)
            entries = items(decode(response, form))
            found.extend(entries)
            total = read_total(response)
            if not entries or (total is not None and len(found) >= total):
                return found
        if not may_cut:
            raise ForgeError(f"{self.api.forge} lists more than {MAX_PAGES} pages at {path}")
        return found


def read_total(response: HttpResponse) -> int | None:
    """Return the number of entries of a list, on all of its pages; None if it is unknown."""
    text = response.headers.get("x-total-count", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def same(page: Any) -> Any:
    """Return the entries of a page that is a list; `null` is an empty one."""
    return page or ()


# ---- The webhook at Gitea or Forgejo that calls the server

_CREATED_EVENTS: Final = (
    "create", "delete", "pull_request", "pull_request_review", "push", "repository",
)  # fmt: skip
"""The events of a new webhook; `pull_request` stands for its kinds too."""


class _Hook(msgspec.Struct):
    id: int
    config: Mapping[str, str] = {}


class GiteaWebhooks(GiteaRepository):
    """Creates and reads the webhook; the protocol describes each operation."""

    async def set_webhook(self, address: str, secret: str) -> None:
        """Create the webhook of an address, then delete former ones.

        The forge cannot change the secret of a webhook.
        """
        path, former = f"{self.root}/hooks", await self._find_hooks(address)
        config = {"url": address, "content_type": "json", "secret": secret}
        body = {"type": self.kind, "config": config, "events": _CREATED_EVENTS, "active": True}
        await self.api.send("POST", path, body, right=WRITE)
        for hook in former:
            await self.api.send("DELETE", f"{path}/{hook.id}", right=WRITE)

    async def find_webhook(self, address: str) -> ForgeWebhook | None:
        """Return the webhook of an address; the forge does not report its deliveries."""
        return ForgeWebhook(address) if await self._find_hooks(address) else None

    async def _find_hooks(self, address: str) -> list[_Hook]:
        hooks: list[_Hook] = await self.read_pages(
            f"{self.root}/hooks", list[_Hook], same, right=WRITE
        )
        return [hook for hook in hooks if hook.config.get("url") == address]
