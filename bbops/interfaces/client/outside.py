"""Ask servers that are not of bbops, for a person at the command line: documents, MCP servers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import httpx

from bbops.base.errors import BbopsError
from bbops.base.host import HttpRequest, HttpResponse, MailRequest
from bbops.runtime.values.failures import HttpFailure
from bbops.runtime.vendors._deliver import deliver

MOST_BYTES: Final = 20_000_000
SECONDS: Final = 30.0
_REDIRECTS: Final = 5


class OwnClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the user's own clock


class OutsideError(BbopsError):
    """Another server cannot be asked, or does not answer with what was asked for."""


class Outside:
    """A door to other servers, of a person's own machine: also to addresses that are private."""

    def __init__(self, *, follows: bool = False) -> None:
        """Args: `follows`: redirects are followed; nobody may have given a key then."""
        self.client = httpx.AsyncClient(
            timeout=SECONDS, follow_redirects=follows, max_redirects=_REDIRECTS, trust_env=True
        )

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the answer, whatever its status.

        Raises:
            HttpFailure: there is none, or it is too large.
        """
        host = httpx.URL(request.url).host
        body = bytearray()
        try:
            async with self.client.stream(
                request.method, request.url, headers=dict(request.headers), content=request.body
            ) as answer:
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > MOST_BYTES:
                        message = f"'{host}' answered with more than {MOST_BYTES:,} bytes"
                        raise HttpFailure("httpTooLarge", message)
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return HttpResponse(answer.status_code, headers, bytes(body))
        except httpx.LocalProtocolError:  # its words may repeat a key
            raise HttpFailure("httpInvalid", f"'{host}' cannot be sent such a header") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise HttpFailure("httpUnreachable", f"cannot ask '{host}': {reason[:200]}") from None

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Give mails to a server over SMTP; return the recipients that it refused.

        Raises:
            HttpFailure: it took nothing.
        """
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(request.host, request.port, type=socket.SOCK_STREAM)
        except OSError:
            raise HttpFailure("httpUnreachable", f"'{request.host}' has no address") from None
        return await deliver(request, [str(one[4][0]) for one in found])

    async def close(self) -> None:
        """Close its connections."""
        await self.client.aclose()


def fetch(url: str, headers: Mapping[str, str]) -> bytes:
    """Return what is at an address.

    Args:
        headers: keys that the server wants; redirects are not followed with them.

    Raises:
        OutsideError: it cannot be read.
    """
    return asyncio.run(_fetch(url, headers))


async def _fetch(url: str, headers: Mapping[str, str]) -> bytes:
    door = Outside(follows=not headers)
    try:
        request = HttpRequest("GET", url, {"accept": "*/*", **headers}, b"", SECONDS)
        answer = await door.send(request)
    except (HttpFailure, ValueError) as failure:
        raise OutsideError(str(failure)) from None
    finally:
        await door.close()
    if not 200 <= answer.status <= 299:
        raise OutsideError(f"'{httpx.URL(url).host}' answered {answer.status}")
    return answer.body
