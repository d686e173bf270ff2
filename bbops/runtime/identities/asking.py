"""Ask a provider over HTTP: JSON both ways, bounded in time and size, without redirects."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec

from bbops.base.host import Host, HttpRequest
from bbops.runtime.values.failures import HttpFailure, Thrown

TIMEOUT_SECONDS: Final = 10.0
MOST_BYTES: Final = 1 << 20
_LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "::1"))


class Asking:
    """The way to one provider."""

    __slots__ = ("_host", "_name")

    def __init__(self, name: str, host: Host) -> None:
        self._name, self._host = name, host

    async def get(self, url: str, token: str = "") -> Any:
        """Return the JSON at an address.

        Raises:
            Thrown: it cannot be had; the message names the provider and nothing of ours.
        """
        headers = {"accept": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        return await self._ask(HttpRequest(
            "GET", url, headers, b"", TIMEOUT_SECONDS, "none", most_bytes=MOST_BYTES,
        ))  # fmt: skip

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
        found = await self._ask(HttpRequest(
            "POST", url, headers, urlencode(form).encode(), TIMEOUT_SECONDS, "none",
            most_bytes=MOST_BYTES,
        ))  # fmt: skip
        if type(found) is not dict:
            raise self.refuse("it answered something else than agreed")
        return found

    def refuse(self, why: str) -> Thrown:
        """Return the failure of a sign-in that cannot be trusted; `why` is for the log."""
        self._host.log.write("warning", f"sign-in with '{self._name}' failed: {why}", {})
        return Thrown(400, f"'{self._name}' did not confirm the sign-in", code="signInInvalid")

    def unreachable(self, why: str) -> Thrown:
        """Return the failure of a sign-in whose provider does not answer."""
        self._host.log.write("error", f"sign-in with '{self._name}' failed: {why}", {})
        message = f"'{self._name}' cannot be reached"
        return Thrown(502, message, code="providerUnavailable")

    async def _ask(self, request: HttpRequest) -> Any:
        if not is_safe(request.url):
            raise self.refuse("it names an address without https")
        if self._host.http is None:
            raise self.unreachable("nothing outside may be asked")
        try:
            answer = await self._host.http.send(request)
        except HttpFailure as failure:
            raise self.unreachable(failure.message) from None
        if answer.status >= 500:
            raise self.unreachable(f"it answered {answer.status}")
        if answer.status != 200:
            raise self.refuse(f"it answered {answer.status}")
        try:
            return msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self.refuse("it answered something else than JSON") from None


def is_safe(url: str) -> bool:
    """Return whether an address has TLS, or is on this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
