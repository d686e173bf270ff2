"""Refuse what a web page elsewhere could make a browser send to the control plane.

A page whose name is rebound to its address shows by the Host header, a form or script of another
site by Origin or Sec-Fetch-Site.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from bbops.base.addresses import split
from bbops.runtime.flow.run import code_of
from bbops_server.process.sockets.request_bounds import find_problem
from bbops_server.settings import is_loopback

_TAKES_FROM_ALL: Final = frozenset({"/oauth/token", "/oauth/register", "/oauth/revoke"})
"""What pages of other sites may send something to: no cookie counts there."""
_TELLS_ALL: Final = "/.well-known/oauth-"
_FOR_ALL: Final = {b"access-control-allow-origin": b"*"}
_PREFLIGHT: Final = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, mcp-protocol-version"),
    (b"access-control-max-age", b"86400"),
]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"cache-control": b"no-store",
    b"referrer-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
"""Of every answer that has none. `no-referrer` would make forms come with `Origin: null`."""

_HSTS = {b"strict-transport-security": b"max-age=31536000"}


class Guard:
    """ASGI middleware around the whole control plane."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer 403, or pass the request on."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        url = scope["litestar_app"].state.control.settings.control_url
        reason, sending = find_reason(scope, url), _adding_headers(send, scope["path"], url)
        trouble = find_problem(scope) if scope["type"] == "http" else None
        if trouble is not None:
            await _refuse(sending, *trouble)
            return
        if reason is None and scope.get("method") == "OPTIONS" and _is_for_all(scope["path"]):
            await sending({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await sending({"type": "http.response.body", "body": b""})
        elif reason is None:
            await self._app(scope, receive, sending)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _refuse(sending, 403, reason)


def _is_for_all(path: str) -> bool:
    """Return whether pages of other sites may ask for a path, and read the answer."""
    return path in _TAKES_FROM_ALL or path.startswith(_TELLS_ALL)


def _adding_headers(send: Any, path: str, control_url: str) -> Any:
    added = _HEADERS | (_HSTS if control_url.startswith("https:") else {})
    added |= _FOR_ALL if _is_for_all(path) else {}

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            more = [one for one in added.items() if one[0] not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


def find_reason(scope: Any, control_url: str) -> str | None:
    """Return why a request is refused, None when it is not.

    Args:
        control_url: the address people are told, whose host is answered beside this machine's.
    """
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, []).append(value)
    hosts = headers.get(b"host", [])
    host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
    if not is_here(host) and host.lower() != urlsplit(control_url).netloc.lower():
        return (
            "this server is only available under its own host name; on this machine use localhost"
        )
    # a websocket has no method
    if scope.get("method") in _READING or scope["path"] in _TAKES_FROM_ALL:
        return None
    sites = headers.get(b"sec-fetch-site", [])
    if any(site not in {b"same-origin", b"none"} for site in sites):
        return "cross-site request rejected"
    if any(_host_of(origin.decode("latin-1")) != host for origin in headers.get(b"origin", [])):
        return "cross-site request rejected"
    return None


def _host_of(origin: str) -> str | None:
    parts = split(origin)
    return parts.netloc if parts else None


def is_here(host: str) -> bool:
    """Return whether a Host header names this machine to itself."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


async def _refuse(send: Any, status: int, message: str) -> None:
    body = msgspec.json.encode({"error": {"code": code_of(status), "message": message}})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
