"""Ask a provider over HTTP: JSON both ways, bounded in time and size."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec

from bbops.base.host import HttpRequest
from bbops.runtime.values.failures import HttpFailure
from bbops_server.accounts.errors import AccountError
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp

TIMEOUT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Stranger:
    """Whom a provider has sent: `subject` is its own name for them, which never changes."""

    provider: str
    subject: str
    email: str
    is_verified: bool
    name: str = ""


class Provided:
    """The way to one provider; its own host may be one of our network, for an owner named it."""

    def __init__(self, name: str, url: str) -> None:
        self._name = name
        self._http = OutsideHttp(EgressPolicy([urlsplit(url).hostname or ""]))

    async def get(self, url: str, token: str = "") -> Any:
        """Return the JSON at an address.

        Raises:
            AccountError: it cannot be had; the message names the provider and nothing of ours.
        """
        headers = {"accept": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        return await self._ask(HttpRequest("GET", url, headers, b"", TIMEOUT_SECONDS))

    async def post(
        self, url: str, form: Mapping[str, str], client: tuple[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the JSON answer to a form; `client` are our id and secret. Raises as `get`."""
        headers = {
            "accept": "application/json", "content-type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        if client is not None:
            pair = ":".join(map(quote_plus, client))  # RFC 6749 section 2.3.1
            headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        request = HttpRequest("POST", url, headers, urlencode(form).encode(), TIMEOUT_SECONDS)
        found = await self._ask(request)
        if not isinstance(found, dict):
            raise self.odd()
        return found

    def odd(self) -> AccountError:
        """Return what is said when a provider answers something else than agreed."""
        return AccountError(f"'{self._name}' returned an invalid response")

    async def _ask(self, request: HttpRequest) -> Any:
        try:
            answer = await self._http.send(request)
            found = msgspec.json.decode(answer.body)
        except HttpFailure:
            raise AccountError(f"'{self._name}' cannot be reached", hint="try again") from None
        except msgspec.DecodeError:
            raise self.odd() from None
        if answer.status != 200:
            raise AccountError(f"'{self._name}' refused the sign-in", hint="try again")
        return found
