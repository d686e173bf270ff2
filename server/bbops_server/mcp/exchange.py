"""Let the SDK answer one message, in the protocol of its time.

A message that follows a handshake is run at once: the SDK's own way for those makes a stream, a
session and a task of each, and costs four times as much. Newer ones go to its manager, one for
each message: there is no session to keep, so nothing starts or stops with the server.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import anyio
import msgspec
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from bbops_server.mcp.gate import Message, send_body

_JSON: Final = {"content-type": "application/json"}
_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)
VERSION_HEADER: Final = "mcp-protocol-version"

logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells of each message


async def exchange(
    server: Server[Any], message: Message, headers: Mapping[str, str], scope: Any, receive: Any,
    send: Any,
) -> None:  # fmt: skip
    """Answer a message that was let in.

    Args:
        headers: as `read_headers` gives them.
        receive: gives what comes after the body.
    """
    version = headers.get(VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        await _pass_on(server, message, scope, receive, send)
    elif message.id is None:
        await send_body(send, HTTPStatus.ACCEPTED, b"", {})
    else:
        body = msgspec.json.encode(await _run(server, message, version))
        await send_body(send, HTTPStatus.OK, body, _JSON)


async def _run(server: Server[Any], message: Message, version: str) -> dict[str, Any]:
    connection = Connection.from_envelope(version, None, None)
    said = {"jsonrpc": "2.0", "id": message.id}
    try:
        return said | {
            "result": await serve_one(
                server, _Alone(message.id), message.method, message.params or None,
                connection=connection, lifespan_state={},
            )
        }  # fmt: skip
    except Exception as error:  # noqa: BLE001 - the SDK says which of it may be told
        told = modern_error_data(error)
        return said | {"error": told.model_dump(by_alias=True, exclude_none=True)}


async def _pass_on(
    server: Server[Any], message: Message, scope: Any, receive: Any, send: Any
) -> None:
    """Hand the message that was judged to the SDK, not the bytes that it came in."""
    body = msgspec.json.encode(message.whole)
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return parts.pop() if parts else await receive()

    # uvicorn's parser keeps the blanks behind a value, which RFC 9110 section 5.5 takes away.
    stripped = [(name, value.strip()) for name, value in scope["headers"]]
    manager = StreamableHTTPSessionManager(server, stateless=True)
    async with manager.run():
        await manager.handle_request(scope | {"headers": stripped}, replay, send)


class _Alone:
    """What a handler knows of a message that is answered in one piece: it can ask nothing back."""

    def __init__(self, request_id: str | int | None) -> None:
        self.request_id, self.cancel_requested = request_id, anyio.Event()
        self.transport, self.message_metadata = _TRANSPORT, None
        self.progress_token, self.can_send_request = None, False

    async def send_raw_request(self, method: str, *_: Any) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Any, opts: Any = None) -> None:
        """Drop it: nobody listens."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Drop it: nobody listens."""
