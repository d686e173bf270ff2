"""Upgrade HTTP connections to websockets."""

from __future__ import annotations

from typing import Any, Final

SOCKET_PATH: Final = b"/~realtime"
"""The end of a websocket's path. The start of the path selects the project."""

_MAX_LINE: Final = 8_000
"""The longest header in bytes; the package websockets ignores longer ones silently."""


def become_websocket(connection: Any, *, is_alone: bool) -> bool:
    """Upgrade a request to a websocket; return False if it is not a valid upgrade.

    Then the request is handled without its `Upgrade` header.

    Args:
        connection: an `HttpConnection` that has read the head of a request.
        is_alone: no bytes followed the head, as the client waits for the response.
    """
    path = connection.url.partition(b"?")[0]
    if (
        connection.config.ws_protocol_class is None
        or not is_alone
        or not connection.is_free
        or not path.endswith(SOCKET_PATH)
        or connection.parser.get_method() != b"GET"
        or not _wants_websocket(connection.headers)
    ):
        return False
    lines = [b"GET %s HTTP/1.1" % connection.url]
    lines += [b"%s: %s" % header for header in connection.headers]
    if max(map(len, lines)) > _MAX_LINE or len(lines) > 100:
        return False
    transport = connection.transport.detach()
    connection.connections.discard(connection)
    protocol = connection.config.ws_protocol_class(
        config=connection.config, server_state=connection.server_state,
        app_state=connection.app_state,
    )  # fmt: skip
    protocol.connection_made(transport)
    transport.set_protocol(protocol)
    protocol.data_received(b"\r\n".join([*lines, b"", b""]))
    return True


def _wants_websocket(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"upgrade" and value.lower() == b"websocket" for name, value in headers)
