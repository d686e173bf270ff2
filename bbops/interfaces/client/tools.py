"""The tools of an MCP server, as `bbops addon add` reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from bbops.base.host import HttpRequest
from bbops.interfaces.client.external import SECONDS, ExternalClient, ExternalError, LocalClock
from bbops.runtime.values.failures import Failure
from bbops.runtime.vendors._mcp import Session


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
