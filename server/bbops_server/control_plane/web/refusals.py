"""Errors of the API with their hints, and the response without accounts."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar.enums import ParamType
from litestar.exceptions import ClientException, HTTPException

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.tool import ToolError
from bbops_server.control_plane.web.guard import POLICY

CONFLICT = 409
_WHOLE_BODY: Final = "data"
"""Litestar's key for the request body."""

_MESSAGES: Final = {
    HTTPStatus.NOT_FOUND: "page not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method not allowed",
}


def refuse(error: BbopsError | ToolError, status: int = CONFLICT) -> ClientException:
    """Return the HTTP error for an error that the user can fix."""
    text = f"{error.message}; {error.hint}" if error.hint else error.message
    return ClientException(text, status_code=status)


def error_text(error: HTTPException) -> str:
    """Return the message of an error, with our wording for Litestar's own errors."""
    if isinstance(error.extra, list) and error.extra:
        return "; ".join(map(_describe_part, error.extra))
    status = HTTPStatus(error.status_code)
    if error.detail == status.phrase:
        return _MESSAGES.get(status, error.detail.lower())
    return error.detail


def _describe_part(wrong: Mapping[str, Any]) -> str:
    """Return the error in one parameter or field of a request, with the expected value."""
    key, source = str(wrong.get("key", "")), wrong.get("source", "body")
    source = source.value if isinstance(source, ParamType) else source
    where = f"the {source}" if key == _WHOLE_BODY else f"'{key}' in the {source}"
    text = str(wrong["message"]).replace("`", "'")
    return f"{where}: {text[:1].lower()}{text[1:]}" if text.strip("'") != key else f"{where} lacks"


# ---- The response of the control plane while its accounts cannot be used

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
