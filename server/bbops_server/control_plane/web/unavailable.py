"""The response of the control plane while its accounts cannot be used."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bbops_server.control_plane.web.guard import POLICY

MESSAGE: Final = (
    "The accounts of this server cannot be used, so signing in is not possible. Projects keep"
    " serving. The server's log has the reason and the fix."
)
_BODY: Final = msgspec.json.encode({"error": {"code": "accountsUnavailable", "message": MESSAGE}})
_PAGE: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Closed · bbops</title>"
    f"<h1>The control plane is closed</h1><p>{MESSAGE}</p>"
).encode()


async def send_unavailable(scope: Any, receive: Any, send: Any) -> None:
    """Send 503 for every request, as a page for a browser and as JSON for a program."""
    if scope["type"] == "lifespan":
        await _complete_lifespan(receive, send)
        return
    if scope["type"] != "http":
        await send({"type": "websocket.close", "code": 1013})
        return
    accept = b",".join(value for name, value in scope["headers"] if name == b"accept")
    is_page = b"text/html" in accept
    body, kind = (_PAGE, b"text/html") if is_page else (_BODY, b"application/json")
    await send({
        "type": "http.response.start", "status": 503,
        "headers": [
            (b"content-type", kind), (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"), (b"retry-after", b"60"),
            (b"content-security-policy", POLICY.encode()),
        ],
    })  # fmt: skip
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _complete_lifespan(receive: Any, send: Any) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})
