"""Requests of the Playground: they reach the live release like others, and history has the sender.

Such a request has its own prefix, so that other requests cost nothing more, and a header that only
this server can sign. Prefix and header are removed before the project sees the request.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

from bbops.runtime.flow.tracing import RequestTracer
from bbops.runtime.http.responses import Trace

PREFIX: Final = "/~playground"
SENDER_HEADER: Final = "x-bbops-sender"
TRACE_HEADER: Final = "x-bbops-trace"
DRAFT_SENDER: Final = "Playground"
"""The sender in the history of a draft, whose process cannot verify another one."""
_HEADER: Final = SENDER_HEADER.encode()
_TRACE: Final = TRACE_HEADER.encode()

Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Any, Send], Awaitable[None]]


def write_sender(key: bytes, sender: str, expires_at: float) -> str:
    """Return the header of a request: the sender, signed until a time in seconds since 1970."""
    text = f"{int(expires_at):x}.{urlsafe_b64encode(sender.encode()).decode()}"
    return f"{text}.{_sign(key, text)}"


def read_sender(header: str, key: bytes, now: float) -> str | None:
    """Return the sender of a valid header; None for any other."""
    text, _, signature = header.rpartition(".")
    expires, _, sender = text.partition(".")
    if not key or not hmac.compare_digest(_sign(key, text).encode(), signature.encode()):
        return None
    return urlsafe_b64decode(sender).decode() if int(expires, 16) > now else None


def accept(scope: Any, key: bytes) -> str | None:
    """Return the sender of a Playground request, which becomes an ordinary one; None without."""
    headers = [value for name, value in scope["headers"] if name == _HEADER]
    if len(headers) != 1:
        return None
    sender = read_sender(headers[0].decode("latin-1"), key, _now())
    if sender is None:
        return None
    scope["headers"] = [pair for pair in scope["headers"] if pair[0] != _HEADER]
    scope["path"] = scope["path"][len(PREFIX) :]
    if scope.get("raw_path"):
        scope["raw_path"] = scope["raw_path"][len(PREFIX) :]
    return sender


async def serve_traced(app: App, scope: Any, receive: Any, send: Send, sender: str) -> None:
    """Serve a request under a trace; its line in the history has the sender and the spans.

    Args:
        app: the application of the live release, or of a draft's.
    """
    tracer = RequestTracer()

    async def sending(message: Any) -> None:
        trace: Trace | None = scope.get("bbops")
        if trace is not None:
            trace.sender, trace.tracer = sender, tracer
        await send(message)

    async def run() -> None:
        await app(scope, receive, sending)

    await tracer.drive(run())


def takes_trace(scope: Any) -> bool:
    """Return whether a request to a draft is to be traced; the header is removed.

    A token of the draft suffices: only members of the project read the history of the draft.
    """
    headers = [pair for pair in scope["headers"] if pair[0] != _TRACE]
    is_traced = len(headers) < len(scope["headers"])
    scope["headers"] = headers
    return is_traced


def _sign(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(), "sha256").hex()


def _now() -> float:
    return datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock
