"""What a project answers before its first release: a page for a browser, JSON for a program."""

from __future__ import annotations

from typing import Any, Final

from bbops_server.data_plane.pages.frontend import wants_page

_BODY: Final = b'{"error":{"code":"notReady","message":"no release is live yet"}}'
_PAGE: Final = b"""<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content="width=device-width">
<meta http-equiv=refresh content=5>
<title>No release yet</title>
<h1>No release is live yet</h1>
<p>The server runs, and nothing has been published here so far. This page looks again by itself.</p>
<p>Where it takes longer, <code>bbops status</code> says what is in the way.</p>
</html>
"""
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
    (b"retry-after", b"1"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


async def answer_not_ready(scope: Any, send: Any) -> None:
    """Answer 503, whatever was asked."""
    is_page = wants_page(scope)
    body, kind = (_PAGE, b"text/html") if is_page else (_BODY, b"application/json")
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *_HEADERS]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    is_head = scope["method"] == "HEAD"
    await send({"type": "http.response.body", "body": b"" if is_head else body})
