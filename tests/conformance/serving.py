"""Serve an ASGI application on a port of this machine for as long as a test takes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from bbops_server.control_plane.web.guard import find_reason
from bbops_server.mcp.exchange import exchange
from bbops_server.mcp.gate import (
    MOST_BYTES,
    Disconnected,
    Rejected,
    check_head,
    read_headers,
    read_message,
)


@contextmanager
def listening(app: Any, port: int = 0) -> Iterator[str]:
    """Serve in a thread; give the address."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


def transport(server: Any) -> Any:
    """Return an application that is our transport and the guard before it, with another server."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers, reason = read_headers(scope), find_reason(scope, "http://127.0.0.1")
        try:
            if reason:
                await Rejected(403, reason).send(send)
                return
            check_head(scope["method"], headers)
            message = await read_message(receive, MOST_BYTES)
            await exchange(server, message, headers, scope, receive, send)
        except Rejected as rejected:
            await rejected.send(send)
        except Disconnected:
            return

    return app
