"""The webhook at GitHub that calls the server: of the repository, or of the App.

Source: docs.github.com, "REST API endpoints for repository webhooks" and "for GitHub App webhooks".
"""

from __future__ import annotations

import msgspec

from bbops.base.render import one_line
from bbops_server.forges.api import ForgeApi
from bbops_server.forges.on_github.repository import GitHubRepository
from bbops_server.forges.values import ForgeWebhook

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
