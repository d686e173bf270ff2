"""Hand a connection over to the websocket protocol, where its server has websockets."""

from __future__ import annotations

from typing import Any, Final

SOCKET_PATH: Final = b"/~realtime"
"""How the path of a websocket ends; what is before it leads to its project."""

_MAX_LINE: Final = 8_000
"""Bytes of a header; websockets reads no longer ones, and says nothing of them."""


def become_websocket(connection: Any, *, is_alone: bool) -> bool:
    """Let the request that wants an upgrade begin a websocket; return False where it does not.

    Then it is read as if it had not asked for one.

    Args:
        connection: a `Connection` that has read the head of a request, and no more of it.
        is_alone: nothing came behind that head, as a client waits for the answer to it.
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
    lines += [b"%s: %s" % one for one in connection.headers]
    if max(map(len, lines)) > _MAX_LINE or len(lines) > 100:
        return False
    transport = connection.transport.handed_over()
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
