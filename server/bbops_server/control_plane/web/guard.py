"""Reject cross-site requests to the control plane.

DNS rebinding is detected by the Host header, a form or script of another site by Origin or
Sec-Fetch-Site.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from bbops.base.addresses import split
from bbops.runtime.flow.run import code_of
from bbops_server.process.sockets.wire import find_problem
from bbops_server.settings import is_loopback

_PUBLIC_POST_PATHS: Final = frozenset({"/oauth/token", "/oauth/register", "/oauth/revoke"})
"""Paths that accept posts from other sites: they ignore cookies."""
_PUBLIC_PREFIX: Final = "/.well-known/oauth-"
_CORS_HEADERS: Final = {b"access-control-allow-origin": b"*"}
_PREFLIGHT: Final = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, mcp-protocol-version"),
    (b"access-control-max-age", b"86400"),
]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types bbops bbops-inert"
)
SAFE_HEADERS: Final = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Defaults for every response. With `no-referrer`, forms would send `Origin: null`."""

_HEADERS = {name.encode(): value.encode() for name, value in SAFE_HEADERS.items()}

_HSTS = {b"strict-transport-security": b"max-age=31536000"}


class BrowserGuard:
    """ASGI middleware that rejects cross-site requests and adds security headers."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request to the application, or respond with an error."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        url = scope["litestar_app"].state.control.settings.control_url
        reason, add_headers = find_reason(scope, url), _adding_headers(send, scope["path"], url)
        violation = find_problem(scope) if scope["type"] == "http" else None
        if violation is not None:
            await _refuse(add_headers, *violation)
            return
        if reason is None and scope.get("method") == "OPTIONS" and _is_public(scope["path"]):
            await add_headers({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await add_headers({"type": "http.response.body", "body": b""})
        elif reason is None:
            await self._app(scope, receive, add_headers)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _refuse(add_headers, 403, reason)


def _is_public(path: str) -> bool:
    """Return whether other sites may request a path and read the response."""
    return path in _PUBLIC_POST_PATHS or path.startswith(_PUBLIC_PREFIX)


def _adding_headers(send: Any, path: str, control_url: str) -> Any:
    added = _HEADERS | (_HSTS if control_url.startswith("https:") else {})
    added |= _CORS_HEADERS if _is_public(path) else {}

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            missing = [field for field in added.items() if field[0] not in present]
            message = {**message, "headers": [*message["headers"], *missing]}
        await send(message)

    return send_with_headers


def find_reason(scope: Any, control_url: str) -> str | None:
    """Return why a request is rejected; None if it is allowed.

    Args:
        control_url: the public URL; besides loopback, requests need its host.
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
    # websocket connections have no method
    if scope.get("method") in _SAFE_METHODS or scope["path"] in _PUBLIC_POST_PATHS:
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
    """Return whether a Host header is a loopback address."""
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
