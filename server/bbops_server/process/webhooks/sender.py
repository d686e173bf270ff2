"""Send a signed message to a receiver."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from bbops.base.errors import BbopsError, ServerError
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.webhooks.deliveries import HookDelivery, describe_error
from bbops_server.process.webhooks.message import HookMessage, make_request, read_secret
from bbops_server.settings import Settings, Webhook

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class HookSender:
    """Sends messages with the current settings."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings, self._http = settings, OutsideHttp()

    async def send(self, hook: Webhook, message: HookMessage) -> HookDelivery:
        """Send a message once; return the delivery, `taken` or `waiting` for a retry."""
        attempted = msgspec.structs.replace(message, tries=message.tries + 1)
        try:
            status = await self._post(hook, message)
        except Exception as error:  # noqa: BLE001 - the message is retried after any error
            return HookDelivery(attempted, tried_at=now(), error=describe_error(error, hook.url))
        if 200 <= status < 300:
            return HookDelivery(attempted, "taken", now(), status)
        return HookDelivery(attempted, "waiting", now(), status, _describe(status))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _post(self, hook: Webhook, message: HookMessage) -> int:
        self._http.allow(EgressPolicy(self._settings().egress))
        key = read_secret(self._secret(hook.secret_env))
        return (await self._http.send(make_request(message, hook.url, now(), key))).status

    def _secret(self, name: str) -> str:
        value = None
        with suppress(BbopsError):
            value = Secrets(self._settings().state).find(name)
        if not value:
            raise ServerError(
                f"no value for {name}", hint=f"bbops env set {name} --of-server sets it"
            )
        return value


def _describe(status: int) -> str:
    if status in _REDIRECTS:
        return f"it redirects with {status}, and redirects are not followed here"
    return f"it answered {status}"


def now() -> datetime:
    """Return the system time."""
    return datetime.now(UTC)  # noqa: TID251 - outside of functions, whose clock is replaced in tests
