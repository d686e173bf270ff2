"""Pass a websocket on to the process of a draft, whose frames are not trusted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from bbops_server.data_plane.drafts.wire import Accept, Close, Outcome, Text, Wire, head_of

MOST_SOCKETS: Final = 50
"""Websockets of one draft at a time, in each data process."""

MOST_MESSAGE_BYTES: Final = 8 << 20
"""The longest message of a draft: the reply to a subscription contains its history."""

RESTARTED: Final = 1012
"""Clients connect again after it."""
_TOO_BIG: Final = 1009
_ACCEPT_SECONDS: Final = 10.0


async def pass_socket(
    socket: str, scope: Any, receive: Any, send: Any, heard: Callable[[], None]
) -> Outcome:
    """Serve a websocket by the process that listens at `socket`, until either side ends it.

    Args:
        socket: the path at which the process listens.
        scope: of ASGI, as the draft is to see it.
        receive: of ASGI.
        send: of ASGI.
        heard: called at each message of the client.

    Returns:
        `gone` with nothing sent where the process refuses the websocket or ends before it.
    """
    try:
        wire = await Wire.connect(socket)
    except OSError:
        return "absent"
    with suppress(ConnectionError):
        await wire.write(head_of(scope, "GET", is_socket=True))
    await receive()  # that the client connects
    pumping: asyncio.Task[None] | None = None
    try:
        if not await _is_accepted(wire):
            return "gone"
        await send({"type": "websocket.accept"})
        pumping = asyncio.create_task(_send_texts(wire, receive, heard))
        await _take_texts(wire, send, pumping)
    finally:
        if pumping is not None:
            pumping.cancel()
        wire.abort()
    return "answered"


async def _is_accepted(wire: Wire) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(_ACCEPT_SECONDS):
            return isinstance(await wire.read(), Accept)
    return False


async def _send_texts(wire: Wire, receive: Any, heard: Callable[[], None]) -> None:
    """Send what the client sends, until it leaves: then the process hears an end."""
    with suppress(ConnectionError):
        while (message := await receive())["type"] == "websocket.receive":
            heard()
            text = message.get("text")
            if text is None:
                await wire.write(Close(1003, ""))
            else:
                await wire.write_message(text)
    wire.close()


async def _take_texts(wire: Wire, send: Any, pumping: asyncio.Task[None]) -> None:
    data = bytearray()
    while True:
        frame = await wire.read()
        if isinstance(frame, Text):
            data += frame.data
            if len(data) > MOST_MESSAGE_BYTES:
                await _close(send, _TOO_BIG, "the draft sent a message that is too large")
                return
            if not frame.more:
                text = data.decode("utf-8", "replace")
                data.clear()
                await send({"type": "websocket.send", "text": text})
        elif pumping.done():
            return  # the client has left
        elif isinstance(frame, Close):
            await _close(send, frame.code, frame.reason)
            return
        else:
            await _close(send, RESTARTED, "the draft has ended")
            return


async def _close(send: Any, code: int, reason: str) -> None:
    await send({"type": "websocket.close", "code": code, "reason": reason})
