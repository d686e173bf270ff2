"""The webhook at GitLab that calls the server."""

from __future__ import annotations

from typing import Final

import msgspec

from bbops_server.forges.on_gitlab.project import GitLabProject
from bbops_server.forges.values import ForgeWebhook

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
