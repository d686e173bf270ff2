"""The tools of an MCP server, as `bbops addon add` reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from bbops.base.host import HttpRequest
from bbops.interfaces.client.outside import SECONDS, Outside, OutsideError, OwnClock
from bbops.runtime.values.failures import Failure
from bbops.runtime.vendors._mcp import Session


def read_definitions(url: str, headers: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the definitions of a server's tools.

    Args:
        url: its address.
        headers: keys that it wants; they are not stored.

    Raises:
        OutsideError: it cannot be asked, or does not speak MCP.
    """
    return asyncio.run(_read(url, {name.lower(): value for name, value in headers.items()}))


async def _read(url: str, headers: dict[str, str]) -> list[Mapping[str, Any]]:
    door = Outside()
    session = Session(door, url, headers, _request, OwnClock().now)
    try:
        await session.open()
        found = await session.tools()
        await session.close()
    except (Failure, ValueError) as failure:
        raise OutsideError(str(failure)) from None
    else:
        return found
    finally:
        await door.close()


def _request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpRequest:
    return HttpRequest(method, url, headers, body, SECONDS)
