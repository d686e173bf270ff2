"""Requests under way: one sweeper ends those that take too long or whose client has left.

A request pays for an entry in a set. Only one that is still under way after WATCH_SECONDS gets a
task of its own that listens for the client leaving.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import perf_counter
from typing import Any, Literal

from bbops.runtime.http.responses import Trace

TIMEOUT_SECONDS = 30.0
"""How long an endpoint may take that does not say `timeout`."""

WATCH_SECONDS = 0.2
SWEEP_SECONDS = 0.1

Receive = Callable[[], Awaitable[Any]]


class ActiveRequest(Trace):
    """One request under way; `ended_by` says why its task was cancelled."""

    answering: object = None
    task: asyncio.Task[Any] | None = None
    timeout_seconds = TIMEOUT_SECONDS
    is_read = False
    is_streaming = False
    """Its function has ended, and its answer goes on; see `stream_answers`."""
    ended_by: Literal["", "timeout", "client", "stop"] = ""
    watcher: asyncio.Task[None] | None = None

    receive: Receive | None = None

    def __init__(self) -> None:
        self.began = perf_counter()

    def end(self, reason: Literal["timeout", "client", "stop"]) -> None:
        """Cancel the request's task, once."""
        if not self.ended_by and self.task is not None:
            self.ended_by = reason
            self.task.cancel()

    async def watch(self) -> None:
        """Wait for the client to leave. Only after its body: two may not receive at once."""
        receive = self.receive
        assert receive is not None  # noqa: S101 - it is under way
        while (await receive())["type"] != "http.disconnect":  # noqa: ASYNC110
            await asyncio.sleep(WATCH_SECONDS)
        self.end("client")


class ActiveRequests:
    """Every request under way in this process."""

    def __init__(self) -> None:
        self.current: set[ActiveRequest] = set()
        self._ended: asyncio.Event | None = None  # made by who waits: requests pay for a look
        self.loop: asyncio.AbstractEventLoop | None = (
            None  # known, a task is found in half the time
        )

    def sweep(self) -> None:
        """End requests that are over their time; begin to watch the clients of slow ones."""
        now = perf_counter()
        for active in tuple(self.current):
            age = now - active.began
            if age > active.timeout_seconds:
                active.end("timeout")
            elif age > WATCH_SECONDS and active.is_read and active.watcher is None:
                active.watcher = asyncio.create_task(active.watch())

    def end_streams(self) -> None:
        """End the answers that go on: their process stops. Each says so in its last event."""
        for active in tuple(self.current):
            if active.is_streaming:
                active.end("stop")

    def note_change(self) -> None:
        """Let those who `wait` look again."""
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    def remove(self, active: ActiveRequest) -> None:
        """Forget a request that has ended.

        The server's `receive` knows the request's scope, and the scope this object: a cycle that
        only the garbage collector would find, for a tenth of a request's time.
        """
        active.receive = active.task = None
        self.current.discard(active)
        if self._ended is not None:
            self.note_change()
        if active.watcher is not None:
            active.watcher.cancel()

    async def wait(self, is_over: Callable[[], bool], seconds: float | None) -> bool:
        """Return True once something is true, as it may be after each answer; False when late."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_over():
                    self._ended = self._ended or asyncio.Event()
                    await self._ended.wait()
        return is_over()

    async def keep_sweeping(self) -> None:
        """Sweep until cancelled."""
        self.loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep()
