"""The side that answers: a table of requests, and what answers each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from bbops_server.process.messages.channel import Channel
from bbops_server.process.messages.failures import pack_error
from bbops_server.process.messages.frames import Answered, Asked
from bbops_server.process.messages.lifecycle.ping import Ping
from bbops_server.process.messages.request import Answer, Done, Reader, Request, write_answer

Handler: TypeAlias = Callable[[Any], Awaitable[Answer]]
"""Answers one kind of request, or raises BbopsError."""

Handlers: TypeAlias = Mapping[type[Request[Any]], Handler]


class Service:
    """Answers requests side by side; `who` it is, is said to whoever asks what it does not know."""

    def __init__(self, who: str, handlers: Handlers) -> None:
        self._handlers: Handlers = {Ping: _answer_ping, **handlers}
        self._reader: Reader[Request[Any]] = Reader(who, self._handlers)

    async def run(self, channel: Channel) -> None:
        """Answer each request, whatever happens to the others, until the parent is gone."""
        tasks: set[asyncio.Task[None]] = set()
        while (frame := await channel.read()) is not None:
            if isinstance(frame, Asked):
                task = asyncio.create_task(self._answer(channel, frame))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    async def handle(self, request: Request[Any]) -> Answer:
        """Return the answer to a request. Raises: BbopsError: it cannot be done."""
        return await self._handlers[type(request)](request)

    async def _answer(self, channel: Channel, asked: Asked) -> None:
        with suppress(ConnectionError):
            try:
                request = self._reader.read(asked.request)
                answer = write_answer(request, await self.handle(request))
                await channel.write(Answered(asked.number, answer))
            except ConnectionError:
                raise  # the parent is gone, and with it whoever asked
            except Exception as error:  # noqa: BLE001 - the parent gets an answer to everything
                await channel.write(pack_error(asked.number, error))


async def _answer_ping(request: Ping) -> Done:
    del request
    return Done()
