"""The webhook at Gitea or Forgejo that calls the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from bbops_server.forges.on_gitea.repository import WRITE, GiteaRepository, same
from bbops_server.forges.values import ForgeWebhook

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
