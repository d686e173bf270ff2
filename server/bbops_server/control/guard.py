"""Refuse what a web page elsewhere could make a browser send to this machine.

A page whose name is rebound to 127.0.0.1 shows by its Host header, a form or script of another
site by Origin or Sec-Fetch-Site.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import msgspec

_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """ASGI middleware around the whole control plane."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer 403, or pass the request on."""
        reason = find_reason(scope) if scope["type"] in {"http", "websocket"} else None
        if reason is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _forbid(send, reason)


def find_reason(scope: Any) -> str | None:
    """Return why a request is refused, None when it is not."""
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, []).append(value)
    hosts = headers.get(b"host", [])
    host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
    if not is_loopback(host):
        return "this address answers only under the name of this machine itself, such as localhost"
    if scope.get("method") in _READING:  # a websocket has no method
        return None
    sites = headers.get(b"sec-fetch-site", [])
    if any(site not in {b"same-origin", b"none"} for site in sites):
        return "this request comes from a page of another site"
    if any(
        urlsplit(origin.decode("latin-1")).netloc != host for origin in headers.get(b"origin", [])
    ):
        return "this request comes from a page of another site"
    return None


def is_loopback(host: str) -> bool:
    """Return whether a Host header names this machine to itself."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


async def _forbid(send: Any, message: str) -> None:
    body = msgspec.json.encode({"error": {"code": "forbidden", "message": message}})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
