"""The answering side of a channel: handlers by request type."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.frames import AnswerFrame, RequestFrame
from bbops_server.process.messages.lifecycle import Ping
from bbops_server.process.messages.request import (
    AnswerMessage,
    DoneAnswer,
    MessageReader,
    RequestMessage,
    pack_error,
    write_answer,
)

RequestHandler: TypeAlias = Callable[[Any], Awaitable[AnswerMessage]]
"""Answers a request, or raises BbopsError."""

Handlers: TypeAlias = Mapping[type[RequestMessage[Any]], RequestHandler]


class RequestService:
    """Answers requests concurrently. `who` names the process in errors about unknown requests."""

    def __init__(self, who: str, handlers: Handlers) -> None:
        self._handlers: Handlers = {Ping: _answer_ping, **handlers}
        self._reader: MessageReader[RequestMessage[Any]] = MessageReader(who, self._handlers)

    async def run(self, channel: ProcessChannel) -> None:
        """Answer requests, each in its own task, until the parent is gone."""
        tasks: set[asyncio.Task[None]] = set()
        while (frame := await channel.read()) is not None:
            if isinstance(frame, RequestFrame):
                task = asyncio.create_task(self._answer(channel, frame))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    async def handle(self, request: RequestMessage[Any]) -> AnswerMessage:
        """Return the answer to a request. Raises: BbopsError: the request failed."""
        return await self._handlers[type(request)](request)

    async def _answer(self, channel: ProcessChannel, asked: RequestFrame) -> None:
        with suppress(ConnectionError):
            try:
                request = self._reader.read(asked.request)
                answer = write_answer(request, await self.handle(request))
                await channel.write(AnswerFrame(asked.number, answer))
            except ConnectionError:
                raise  # the parent is gone
            except Exception as error:  # noqa: BLE001 - every request gets an answer
                await channel.write(pack_error(asked.number, error))


async def _answer_ping(request: Ping) -> DoneAnswer:
    del request
    return DoneAnswer()
