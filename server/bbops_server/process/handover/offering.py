"""The running server's side of a handover: hand over to one successor at a time."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import Final

import bbops
from bbops_server.process.handover.protocol import (
    PROTOCOL,
    HandoverDescriptors,
    HandoverMessage,
    end_process,
    find_process,
    is_same_user,
    receive_message,
    send_message,
)
from bbops_server.process.host.files import record_holder

FIRST_MESSAGE_SECONDS: Final = 10.0
READY_SECONDS: Final = 900.0
"""The timeout for a successor to be ready: it may have to build live releases again."""
TAKE_SECONDS: Final = 60.0
"""The timeout for a successor to serve after this server has given up."""

_log = logging.getLogger(__name__)


class Successor:
    """A server that is ready to take over."""

    def __init__(self, end: socket.socket, pid: int) -> None:
        self._end, self._pid = end.dup(), pid
        self.is_done, self.serves = asyncio.Event(), False

    async def takes_over(self) -> bool:
        """Report that this server has given up; return whether the successor serves.

        A successor that serves waits for the end of this process. False means that it has ended.
        """
        try:
            send_message(self._end, {"done": "given up"})
            async with asyncio.timeout(TAKE_SECONDS):
                self.serves = await receive_message(self._end) == {"do": "leave"}
        except TimeoutError:
            _log.error("process %d took over, but hangs and is killed", self._pid)
            end_process(self._pid)
            self.serves = await self._outlast()
        except OSError:
            _log.warning(
                "process %d ended while it took over; this server keeps serving", self._pid
            )
        if not self.serves:
            self._end.close()
        self.is_done.set()
        return self.serves

    async def _outlast(self) -> bool:
        """Wait until the killed successor reports that it serves, or has ended; return which.

        Before that, two servers could change the same state.
        """
        with suppress(OSError):
            return await receive_message(self._end) == {"do": "leave"}
        return False


class HandoverServer:
    """Listens for successors, and passes them the descriptors of the sockets and the lock.

    Attributes:
        is_ready: this server may hand over; if not, successors are rejected.
        has_served: `open` was called.
        is_taken: a successor has taken over.
    """

    def __init__(self, handed: HandoverDescriptors, listening: socket.socket) -> None:
        self._handed, self._listening = handed, listening
        self._ready: asyncio.Queue[Successor] = asyncio.Queue()
        self.is_ready = self.has_served = self.is_taken = False
        self._taken_by = 0
        self._meetings: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept())

    def open(self) -> None:
        """Accept successors from now on."""
        self.is_ready = self.has_served = True

    @property
    def is_in_use(self) -> bool:
        """Whether a successor has taken over, or is getting ready."""
        return self.is_taken or bool(self._taken_by)

    async def wait_for_successor(self) -> Successor:
        """Wait until a successor is ready, and return it."""
        return await self._ready.get()

    async def close(self) -> None:
        """Stop accepting successors. A successor that is getting ready continues alone."""
        tasks = (self._accepting, *self._meetings)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            end, _ = await loop.sock_accept(self._listening)
            task = asyncio.create_task(self._meet(end))
            self._meetings.add(task)
            task.add_done_callback(self._meetings.discard)

    async def _meet(self, end: socket.socket) -> None:
        with end, suppress(OSError, TimeoutError):
            end.setblocking(False)  # noqa: FBT003 - its only argument
            async with asyncio.timeout(FIRST_MESSAGE_SECONDS):
                request = await receive_message(end) if is_same_user(end) else None
            if request is None:
                return
            if refusal := self._refuse(request):
                send_message(end, refusal)
                return
            self._taken_by = find_process(end) or -1
            try:
                await self._hand_over(end, self._taken_by)
            finally:
                self._taken_by = 0

    def _refuse(self, request: HandoverMessage) -> HandoverMessage | None:
        if request.get("protocol") != PROTOCOL or request.get("do") != "take over":
            return {
                "refused": f"the server that runs hands over by protocol {PROTOCOL}, and was asked"
                f" for '{request.get('protocol')}'",
                "hint": "stop it, then start this server",
            }
        if not self.is_ready:
            return {
                "refused": f"process {os.getpid()} is just starting, or ending, in this state"
                " folder",
                "hint": "try again in a moment",
            }
        if self._taken_by:
            return {
                "refused": f"process {self._taken_by} is already taking over",
                "hint": "wait until it serves, then try again",
            }
        return None

    async def _hand_over(self, end: socket.socket, pid: int) -> None:
        greeting = {"protocol": PROTOCOL, "pid": os.getpid(), "version": bbops.__version__}
        send_message(end, greeting, self._handed)
        async with asyncio.timeout(READY_SECONDS):
            is_ready = await receive_message(end) == {"do": "give up"}
        if is_ready:
            successor = Successor(end, pid)
            self._ready.put_nowait(successor)
            await successor.is_done.wait()
            self.is_taken = successor.serves
            if not self.is_taken:
                record_holder(self._handed.lock)
