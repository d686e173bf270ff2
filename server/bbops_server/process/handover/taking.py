"""The new server's side: take over from the one that runs on the same state folder."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from pathlib import Path
from typing import Any, Final, Self

from bbops.base.errors import ServerError
from bbops_server.process.handover.peer import end_process
from bbops_server.process.handover.place import connect
from bbops_server.process.handover.protocol import (
    PROTOCOL,
    HandoverDescriptors,
    receive_descriptors,
    receive_message,
    send_message,
)

GREETING_SECONDS: Final = 15.0
"""How long the server that runs may take for its first word."""

GIVE_UP_SECONDS: Final = 90.0
"""More than it takes to answer what is under way, and to finish a publication."""

LEAVE_SECONDS: Final = 60.0
_END_SECONDS: Final = 10.0
_log = logging.getLogger(__name__)


class UnresponsivePredecessor(ServerError):
    """The server that runs does not answer: it hangs, or is stopped."""


class NoPredecessor(ServerError):
    """Nobody hands over there: the server that ran has ended, or something else runs."""


class Predecessor:
    """The server whose place is taken. One that hangs or dies meanwhile is not waited for."""

    def __init__(self, end: socket.socket, pid: int, handed: HandoverDescriptors) -> None:
        self._end, self.pid = end, pid
        for descriptor in handed:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
        self.lock = handed.lock
        self.sockets = [_adopt(handed.data), _adopt(handed.control)]
        self.listening = _adopt(handed.handover)
        end.setblocking(False)  # noqa: FBT003 - its only argument

    @classmethod
    def meet(cls, state: Path) -> Self:
        """Return the server that runs on a state folder. Blocks until it has answered.

        Raises:
            Silent: it does not.
            Gone: there is none, or it has ended meanwhile.
            ServerError: it cannot hand over, or does not want to; says why.
        """
        if not hasattr(socket, "send_fds"):
            raise ServerError(
                "this system cannot pass sockets between processes",
                hint="stop the running server, then start this server",
            )
        try:
            end = connect(state, GREETING_SECONDS)
        except OSError:
            raise NoPredecessor(
                f"what uses the state folder '{state}' cannot hand over: it is 'bbops dev', another"
                " command, or a version before 'serve --replace'",
                hint="stop it, then start this server",
            ) from None
        try:
            return cls(end, *_greet(end))
        except BaseException:
            end.close()
            raise

    async def give_up(self) -> None:
        """Let it change nothing any more; returns when it does not. Projects are still answered."""
        await self._do("give up", GIVE_UP_SECONDS)

    async def leave(self) -> None:
        """Let it answer what is under way and end; returns when it has."""
        await self._do("leave", LEAVE_SECONDS)
        if not await self._ends():
            _log.error("process %d has given up, but does not end", self.pid)
        self._end.close()

    async def _do(self, what: str, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                send_message(self._end, {"do": what})
                await receive_message(self._end)
        except TimeoutError:
            _log.error("process %d hangs at '%s' and is killed", self.pid, what)
            end_process(self.pid)
            if not await self._ends():
                raise ServerError(
                    f"process {self.pid} does not respond to the handover",
                    hint="stop the running server, then start this server",
                ) from None
        except OSError:
            _log.warning("process %d has ended before it could hand over", self.pid)

    async def _ends(self) -> bool:
        """Return whether it ends soon, as the connection says that it holds."""
        try:
            async with asyncio.timeout(_END_SECONDS):
                while await receive_message(self._end) is not None:
                    pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True


def _greet(end: socket.socket) -> tuple[int, HandoverDescriptors]:
    try:
        send_message(end, {"protocol": PROTOCOL, "do": "take over", "pid": os.getpid()})
        told, descriptors = receive_descriptors(end)
    except TimeoutError:
        message = f"the server that runs has not answered for {GREETING_SECONDS:g} seconds"
        raise UnresponsivePredecessor(message) from None
    except OSError:
        told, descriptors = None, []
    handed = (
        HandoverDescriptors._make(descriptors[:4])
        if len(descriptors) >= len(HandoverDescriptors._fields)
        else None
    )
    if told is None:
        raise NoPredecessor("the running server has just stopped", hint="start this one again")
    if handed is None:
        raise _refusal_error(told)
    pid = told.get("pid")
    return pid if isinstance(pid, int) else 0, handed


def _refusal_error(told: dict[str, Any]) -> ServerError:
    why = str(told.get("refused", "the running server does not support handover"))
    return ServerError(why, hint=str(told.get("hint", "stop it, then start this server")))


def _adopt(descriptor: int) -> socket.socket:
    adopted = socket.socket(fileno=descriptor)
    adopted.setblocking(False)  # noqa: FBT003 - its only argument
    return adopted
