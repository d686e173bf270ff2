"""Pass a request on to the process of a draft, and its answer back, as each side can take it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Literal

from bbops_server.data_plane.drafts.wire import Head, Lead, Part, Start, Wire

Outcome = Literal["answered", "leads", "gone", "absent"]
"""How it went.

`leads`: it is a page of the frontend. `gone`: the process ended before its answer began. `absent`:
there is none, and nothing was sent.
"""


class CutOff(Exception):
    """The process of a draft ended while it answered: the client sees that something is missing."""


async def pass_on(socket: str, scope: Any, receive: Any, send: Any, *, leads: bool) -> Outcome:
    """Answer a request by the process that listens at `socket`.

    Raises:
        CutOff: it ended halfway through its answer.
    """
    try:
        wire = await Wire.connect(socket)
    except OSError:
        return "absent"
    pumping = asyncio.create_task(_send_body(wire, receive))
    try:
        with suppress(ConnectionError):
            await wire.write(head_of(scope, scope["method"], leads=leads))
        return await _take_answer(wire, send, pumping)
    finally:
        pumping.cancel()
        wire.abort()


def head_of(scope: Any, method: str, *, leads: bool = False, is_socket: bool = False) -> Head:
    """Return a request as it crosses."""
    client = scope.get("client")
    return Head(
        method, scope["path"], scope["raw_path"], scope["query_string"],
        scope["root_path"], list(scope["headers"]),
        (str(client[0]), int(client[1])) if client else None, scope["scheme"], leads, is_socket,
    )  # fmt: skip


async def _send_body(wire: Wire, receive: Any) -> None:
    """Send what the client sends, until it leaves: then the process hears an end."""
    with suppress(ConnectionError):
        while (message := await receive())["type"] != "http.disconnect":
            await wire.write_body(message.get("body", b""), more=bool(message.get("more_body")))
    wire.close()


async def _take_answer(wire: Wire, send: Any, pumping: asyncio.Task[None]) -> Outcome:
    has_begun = False
    while True:
        frame = await wire.read()
        if isinstance(frame, Start) and not has_begun:
            has_begun = True
            start = {"status": frame.status, "headers": frame.headers}
            await send({"type": "http.response.start", **start})
        elif isinstance(frame, Part) and has_begun:
            part = {"body": frame.data, "more_body": frame.more}
            await send({"type": "http.response.body", **part})
            if not frame.more:
                return "answered"
        elif isinstance(frame, Lead) and not has_begun:
            return "leads"
        elif pumping.done():
            return "answered"  # the client has left
        elif has_begun:
            raise CutOff
        else:
            return "gone"
