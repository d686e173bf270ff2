"""What answers in the place of the control plane while its accounts cannot be used."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bbops_server.control_plane.web.guard import POLICY

WHY: Final = (
    "The accounts of this server cannot be used, so nobody can sign in. Projects go on answering."
    " The server's log says why, and what to do."
)
_BODY: Final = msgspec.json.encode({"error": {"code": "accountsUnavailable", "message": WHY}})
_PAGE: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Closed · bbops</title>"
    f"<h1>The control plane is closed</h1><p>{WHY}</p>"
).encode()


async def closed(scope: Any, receive: Any, send: Any) -> None:
    """Answer 503 to everything, as a page for a browser and as JSON for a program."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
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


async def _live(receive: Any, send: Any) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})
