"""Answer a message with the SDK, in the version of the protocol that its client speaks.

Messages of versions with a handshake are run directly: the SDK's own way makes a stream, a
session and a task for each, at four times the cost. Messages of newer versions go to its session
manager, a new one for each message: there are no sessions, so nothing lives as long as the server.
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

logging.getLogger("mcp").setLevel(logging.WARNING)  # it logs each message


async def exchange(
    server: Server[Any], message: Message, headers: Mapping[str, str], scope: Any, receive: Any,
    send: Any,
) -> None:  # fmt: skip
    """Answer an admitted message.

    Args:
        headers: of `read_headers`.
        receive: returns events after the body.
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
    envelope = {"jsonrpc": "2.0", "id": message.id}
    try:
        return envelope | {
            "result": await serve_one(
                server, _Alone(message.id), message.method, message.params or None,
                connection=connection, lifespan_state={},
            )
        }  # fmt: skip
    except Exception as error:  # noqa: BLE001 - the SDK masks it
        data = modern_error_data(error)
        return envelope | {"error": data.model_dump(by_alias=True, exclude_none=True)}


async def _pass_on(
    server: Server[Any], message: Message, scope: Any, receive: Any, send: Any
) -> None:
    """Pass the checked message to the SDK, not the bytes of the request."""
    body = msgspec.json.encode(message.whole)
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return parts.pop() if parts else await receive()

    # uvicorn's parser keeps spaces after a value, which RFC 9110 section 5.5 removes.
    stripped = [(name, value.strip()) for name, value in scope["headers"]]
    manager = StreamableHTTPSessionManager(server, stateless=True)
    async with manager.run():
        await manager.handle_request(scope | {"headers": stripped}, replay, send)


class _Alone:
    """The context of a message with a single response: its handler cannot send requests."""

    def __init__(self, request_id: str | int | None) -> None:
        self.request_id, self.cancel_requested = request_id, anyio.Event()
        self.transport, self.message_metadata = _TRANSPORT, None
        self.progress_token, self.can_send_request = None, False

    async def send_raw_request(self, method: str, *_: Any) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Any, opts: Any = None) -> None:
        """Drop it: the client reads only the response."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Drop it: the client reads only the response."""
