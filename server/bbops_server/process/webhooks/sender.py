"""Take one message to one receiver, signed; whatever comes of it is an answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from bbops.base.errors import BbopsError, ServerError
from bbops.base.host import HttpRequest
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.webhooks.deliveries import HookDelivery, describe_error
from bbops_server.process.webhooks.message import HookMessage, read_secret, sign
from bbops_server.settings import Settings, Webhook

RESPONSE_SECONDS: Final = 15.0


class HookSender:
    """Sends by the settings as they are by then."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        # a signed message is for the address that the settings name, and for no other
        self._settings, self._http = settings, OutsideHttp(max_redirects=0)

    async def send(self, hook: Webhook, message: HookMessage) -> HookDelivery:
        """Try once; return what came back, `taken` or to be tried again."""
        tried = msgspec.structs.replace(message, tries=message.tries + 1)
        try:
            status = await self._ask(hook, message)
        except Exception as error:  # noqa: BLE001 - whatever it is, the message is tried again
            return HookDelivery(tried, tried_at=now(), error=describe_error(error, hook.url))
        if 200 <= status < 300:
            return HookDelivery(tried, "taken", now(), status)
        return HookDelivery(tried, "waiting", now(), status, f"it answered {status}")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _ask(self, hook: Webhook, message: HookMessage) -> int:
        self._http.allow(EgressPolicy(self._settings().egress))
        headers = sign(message, now(), read_secret(self._secret(hook.secret_env)))
        body = message.body.encode()
        request = HttpRequest("POST", hook.url, headers, body, RESPONSE_SECONDS)
        return (await self._http.send(request)).status

    def _secret(self, name: str) -> str:
        found = os.environ.get(name)
        with suppress(BbopsError):
            found = found or Secrets(self._settings().state).get(name)
        if not found:
            raise ServerError(
                f"no value for {name}", hint=f"bbops env set {name} --of-server sets it"
            )
        return found


def now() -> datetime:
    """Return the time of the server's own clock."""
    return datetime.now(UTC)  # noqa: TID251 - the server's own clock, no function runs here
