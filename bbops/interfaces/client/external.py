"""An HTTP and SMTP client for the command line: for documents, MCP servers and addons."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import httpx

from bbops.base.errors import BbopsError
from bbops.base.header_values import encode_value
from bbops.base.host import HttpRequest, HttpResponse, MailRequest
from bbops.runtime.values.failures import Failure, HttpFailure
from bbops.runtime.vendors._deliver import deliver
from bbops.runtime.vendors._mcp import Session

MAX_BYTES: Final = 20_000_000
SECONDS: Final = 30.0
_REDIRECTS: Final = 5


class LocalClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the user's own clock


class ExternalError(BbopsError):
    """A server cannot be reached, or its response is not valid."""


class ExternalClient:
    """A client for other servers, from a user's own machine: also for private addresses."""

    def __init__(self, *, follows: bool = False) -> None:
        """Args: `follows`: follow redirects; only without keys, which would go to other hosts."""
        self.client = httpx.AsyncClient(
            timeout=SECONDS, follow_redirects=follows, max_redirects=_REDIRECTS, trust_env=True
        )

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the response, whatever its status.

        Raises:
            HttpFailure: there is no response, or it is too large.
        """
        host = httpx.URL(request.url).host
        headers = [(name.encode(), encode_value(text)) for name, text in request.headers.items()]
        body = bytearray()
        try:
            async with self.client.stream(
                request.method, request.url, headers=headers, content=request.body
            ) as response:
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        message = f"'{host}' answered with more than {MAX_BYTES:,} bytes"
                        raise HttpFailure("httpTooLarge", message)
                found = {name.lower(): value for name, value in response.headers.items()}
                return HttpResponse(response.status_code, found, bytes(body))
        except httpx.LocalProtocolError:  # its message may contain a key
            raise HttpFailure("httpInvalid", f"'{host}' cannot be sent such a header") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise HttpFailure("httpUnreachable", f"cannot reach '{host}': {reason[:200]}") from None

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Send mails over SMTP; return the rejected recipients.

        Raises:
            HttpFailure: the server accepted no mail.
        """
        loop = asyncio.get_running_loop()
        try:
            addresses = await loop.getaddrinfo(request.host, request.port, type=socket.SOCK_STREAM)
        except OSError:
            raise HttpFailure("httpUnreachable", f"'{request.host}' has no address") from None
        return await deliver(request, [str(address[4][0]) for address in addresses])

    async def close(self) -> None:
        """Close the connections."""
        await self.client.aclose()


def fetch(url: str, headers: Mapping[str, str]) -> bytes:
    """Return the content at a URL.

    Args:
        headers: keys that the server requires; redirects are not followed with keys.

    Raises:
        ExternalError: the content cannot be read.
    """
    return asyncio.run(_fetch(url, headers))


async def _fetch(url: str, headers: Mapping[str, str]) -> bytes:
    client = ExternalClient(follows=not headers)
    try:
        request = HttpRequest("GET", url, {"accept": "*/*", **headers}, b"", SECONDS)
        response = await client.send(request)
    except (HttpFailure, ValueError) as failure:
        raise ExternalError(str(failure)) from None
    finally:
        await client.close()
    if not 200 <= response.status <= 299:
        raise ExternalError(f"'{httpx.URL(url).host}' answered {response.status}")
    return response.body


# ---- The tools of an MCP server, as `bbops addon add` reads them


def read_definitions(url: str, headers: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the definitions of a server's tools.

    Args:
        url: the server's address.
        headers: keys that the server requires; they are not stored.

    Raises:
        ExternalError: the server cannot be reached, or does not speak MCP.
    """
    return asyncio.run(_read(url, {name.lower(): value for name, value in headers.items()}))


async def _read(url: str, headers: dict[str, str]) -> list[Mapping[str, Any]]:
    client = ExternalClient()
    session = Session(client, url, headers, _request, LocalClock().now)
    try:
        await session.open()
        tools = await session.tools()
        await session.close()
    except (Failure, ValueError) as failure:
        raise ExternalError(str(failure)) from None
    else:
        return tools
    finally:
        await client.close()


def _request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpRequest:
    return HttpRequest(method, url, headers, body, SECONDS)
