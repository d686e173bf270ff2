"""The new server's side of a handover: take over from the server on the same state folder."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from pathlib import Path
from typing import Any, Final, Self

from bbops.base.errors import ServerError
from bbops_server.process.handover.place import connect
from bbops_server.process.handover.protocol import (
    PROTOCOL,
    HandoverDescriptors,
    end_process,
    receive_descriptors,
    receive_message,
    send_message,
)

GREETING_SECONDS: Final = 15.0
"""The timeout for the running server's first message."""

GIVE_UP_SECONDS: Final = 90.0
"""Longer than running requests and a publication take."""

LEAVE_SECONDS: Final = 60.0
_END_SECONDS: Final = 10.0
_log = logging.getLogger(__name__)


class UnresponsivePredecessor(ServerError):
    """The running server does not answer: it hangs, or is suspended."""


class NoPredecessor(ServerError):
    """No server hands over: it has ended, or another command uses the state folder."""


class Predecessor:
    """The server to replace. If it hangs or ends during the handover, the handover continues."""

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
        """Connect to the server of a state folder. Blocks until it has answered.

        Raises:
            UnresponsivePredecessor: it does not answer.
            NoPredecessor: there is no server, or it has ended.
            ServerError: it cannot hand over, or refuses to; with its reason.
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
        """Make it stop changing state. It still answers requests to projects."""
        await self._do("give up", GIVE_UP_SECONDS)

    async def leave(self) -> None:
        """Make it finish running requests and end; wait for its end."""
        await self._do("leave", LEAVE_SECONDS)
        if not await self._ends():
            _log.error("process %d has given up, but does not end", self.pid)
        self._end.close()

    async def _do(self, command: str, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                send_message(self._end, {"do": command})
                await receive_message(self._end)
        except TimeoutError:
            _log.error("process %d hangs at '%s' and is killed", self.pid, command)
            end_process(self.pid)
            if not await self._ends():
                raise ServerError(
                    f"process {self.pid} does not respond to the handover",
                    hint="stop the running server, then start this server",
                ) from None
        except OSError:
            _log.warning("process %d has ended before it could hand over", self.pid)

    async def _ends(self) -> bool:
        """Return whether its end of the connection is closed soon."""
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
        message, descriptors = receive_descriptors(end)
    except TimeoutError:
        raise UnresponsivePredecessor(
            f"the server that runs has not answered for {GREETING_SECONDS:g} seconds"
        ) from None
    except OSError:
        message, descriptors = None, []
    handed = (
        HandoverDescriptors._make(descriptors[:4])
        if len(descriptors) >= len(HandoverDescriptors._fields)
        else None
    )
    if message is None:
        raise NoPredecessor("the running server has just stopped", hint="start this one again")
    if handed is None:
        raise _refusal_error(message)
    pid = message.get("pid")
    return pid if isinstance(pid, int) else 0, handed


def _refusal_error(message: dict[str, Any]) -> ServerError:
    reason = str(message.get("refused", "the running server does not support handover"))
    return ServerError(reason, hint=str(message.get("hint", "stop it, then start this server")))


def _adopt(descriptor: int) -> socket.socket:
    adopted = socket.socket(fileno=descriptor)
    adopted.setblocking(False)  # noqa: FBT003 - its only argument
    return adopted
