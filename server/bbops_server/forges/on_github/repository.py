"""A repository on GitHub, its credential and the logins of the server there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import msgspec

from bbops.base.host import Clock
from bbops.base.render import one_line
from bbops_server.forges.api import ForgeApi
from bbops_server.forges.credentials import TokenCredential
from bbops_server.forges.github_app import AppCredential
from bbops_server.forges.values import ForgeWebhook, GitCredential, RequestBudget
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding

PUBLIC: Final = "https://github.com"
HEADERS: Final[Mapping[str, str]] = {
    "accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28",
}  # fmt: skip


class _User(msgspec.Struct):
    login: str


class GitHubRepository:
    """A repository.

    Attributes:
        api: its requests.
        repository: its path, such as `acme/shop`.
        root: its path in the API.
    """

    def __init__(
        self, binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy, *,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """Use the repository of a binding, with its App or its token."""
        self.url, self.repository = binding.url, binding.repository
        self.root, base = f"/repos/{binding.repository}", find_api(binding.url)
        self.app: AppCredential | None = None
        self.credential: AppCredential | TokenCredential
        if binding.app is not None:
            self.credential = self.app = AppCredential(
                base, self.repository, binding.app, secrets, egress, headers=HEADERS, clock=clock
            )
        else:
            self.credential = TokenCredential(secrets, binding.token_env)
        self.api = ForgeApi(
            base, self.credential, egress, headers=HEADERS, root=self.root, clock=clock
        )
        self._logins: frozenset[str] = frozenset()

    @property
    def requests(self) -> int:
        """The number of requests that were sent, with those for tokens."""
        return self.api.requests + (self.app.requests if self.app else 0)

    @property
    def budget(self) -> RequestBudget:
        """The requests that are left; unknown without a limit."""
        return self.api.limits.budget()

    async def bot_logins(self) -> frozenset[str]:
        """Return the login of the App or of the token's user; later calls send no request."""
        if not self._logins:
            if self.app is not None:
                login = f"{(await self.app.read_app()).slug}[bot]"
            else:
                login = (await self.api.get("/user", _User)).login
            self._logins = frozenset({login})
        return self._logins

    async def login_of(self, subject: str) -> str:
        """Return the login of a user, by the id that sign-in has reported."""
        return (await self.api.get(f"/user/{quote(subject, safe='')}", _User)).login

    async def git_credential(self) -> GitCredential:
        """Return the credential for git over HTTPS."""
        return GitCredential("x-access-token", await self.credential.token())

    async def aclose(self) -> None:
        """Close the connections."""
        await self.api.aclose()
        if self.app is not None:
            await self.app.aclose()


def find_graphql(url: str) -> str:
    """Return the address of the GraphQL API of a GitHub."""
    return "https://api.github.com/graphql" if url == PUBLIC else f"{url}/api/graphql"


def find_api(url: str) -> str:
    """Return the address of the API of a GitHub."""
    return "https://api.github.com" if url == PUBLIC else f"{url}/api/v3"


# ---- The webhook at GitHub that calls the server: of the repository, or of the App
# Source: docs.github.com, "REST API endpoints for repository webhooks" and "for GitHub App
# webhooks".

MANAGE = "repository_hooks: write"
_MAX_MESSAGE = 100


class _HookConfig(msgspec.Struct):
    url: str = ""


class _LastResponse(msgspec.Struct):
    code: int | None = None
    status: str | None = None
    message: str | None = None


class _Hook(msgspec.Struct):
    id: int
    config: _HookConfig
    last_response: _LastResponse = msgspec.field(default_factory=_LastResponse)


class _HookDelivery(msgspec.Struct):
    delivered_at: str
    status: str
    status_code: int


class GitHubWebhooks(GitHubRepository):
    """Creates and reads the webhook; the protocol describes each operation."""

    hook_events: frozenset[str] = frozenset()
    """The events of a new webhook."""

    async def set_webhook(self, address: str, secret: str) -> None:
        """Create the webhook of an address, or replace its secret. An App has only one."""
        config = {"url": address, "content_type": "json", "secret": secret}
        if self.app is not None:
            await self.app.api.send("PATCH", "/app/hook/config", config)
            return
        body = {"config": config, "events": sorted(self.hook_events), "active": True}
        path, method, known = f"{self.root}/hooks", "POST", await self._find_hook(address)
        if known is not None:
            path, method = f"{path}/{known.id}", "PATCH"
        await self.api.send(method, path, body, right=MANAGE)

    async def find_webhook(self, address: str) -> ForgeWebhook | None:
        """Return the webhook of an address, with the response to its last delivery."""
        if self.app is not None:
            return await _find_app_hook(self.app.api, address)
        hook = await self._find_hook(address)
        if hook is None:
            return None
        last = hook.last_response
        texts = (str(last.code or ""), last.message or last.status or "")
        return ForgeWebhook(address, one_line(" ".join(filter(None, texts)))[:_MAX_MESSAGE])

    async def _find_hook(self, address: str) -> _Hook | None:
        pages = self.api.pages(f"{self.root}/hooks", list[_Hook], right=MANAGE)
        hooks = [hook async for page in pages for hook in page]
        return next((hook for hook in hooks if hook.config.url == address), None)


async def _find_app_hook(api: ForgeApi, address: str) -> ForgeWebhook | None:
    config = await api.get("/app/hook/config", _HookConfig)
    if config.url != address:
        return None
    deliveries = await api.get("/app/hook/deliveries", list[_HookDelivery], per_page=1)
    last = [f"{each.status_code} {each.status} at {each.delivered_at}" for each in deliveries]
    return ForgeWebhook(address, one_line("".join(last[:1]))[:_MAX_MESSAGE])
