"""The loop of a zygote: a process with all imports and no open files that forks on request.

It has one thread and no event loop, so that a fork copies no running work. The forks end with the
zygote, and the zygote ends with its parent.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, NoReturn, TypeVar

from bbops.base.errors import ServerError
from bbops_server.process.messages.forks import Ended, Forked, Kill
from bbops_server.process.messages.frames import (
    AnswerFrame,
    EventFrame,
    Frame,
    RequestFrame,
    encode,
    pack,
    read_now,
)
from bbops_server.process.messages.lifecycle import Ping
from bbops_server.process.messages.request import (
    AnswerMessage,
    DoneAnswer,
    MessageReader,
    RequestMessage,
    pack_error,
    write_answer,
)

F = TypeVar("F", bound=RequestMessage[Forked])

_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG: prctl(2)
_MAX_DESCRIPTORS: Final = 4_096


def serve(control: int, kind: type[F], run: Callable[[F], None]) -> NoReturn:
    """Answer requests until the parent has ended, then kill the forks.

    Args:
        control: the descriptor of the socket to the parent.
        kind: the type of the requests that fork.
        run: the function of a forked process, which exits when it returns.
    """
    Zygote(socket.socket(fileno=control), kind, run).work()
    os._exit(0)


class Zygote(Generic[F]):
    """Forks and kills processes on request, and reports processes that have ended."""

    def __init__(self, control: socket.socket, kind: type[F], run: Callable[[F], None]) -> None:
        self._control, self._kind, self._run = control, kind, run
        self._reader: MessageReader[RequestMessage[Any]] = MessageReader(
            "a zygote", (kind, Kill, Ping)
        )
        self._living: set[int] = set()
        self._prctl = _find_prctl()
        self._signals, writer = os.pipe()
        for end in (self._signals, writer):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def work(self) -> None:
        """Answer requests until the parent has ended."""
        gc.collect()
        gc.freeze()  # the collector would write into memory that the forks share
        poll = select.poll()
        for descriptor in (self._control.fileno(), self._signals):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._signals:
                    self._reap()
                elif not self._answer():
                    self._kill_all()
                    return

    def _answer(self) -> bool:
        try:
            frame = read_now(self._control)
        except ServerError:  # the following bytes cannot be decoded either
            return False
        if frame is None:
            return False
        if isinstance(frame, RequestFrame):
            self._send(self._reply(frame))
        return True

    def _reply(self, frame: RequestFrame) -> Frame:
        try:
            request = self._reader.read(frame.request)
            return AnswerFrame(frame.number, write_answer(request, self._handle(request)))
        except Exception as error:  # noqa: BLE001 - each request gets an answer
            return pack_error(frame.number, error)

    def _handle(self, request: RequestMessage[Any]) -> AnswerMessage:
        if isinstance(request, self._kind):
            return Forked(self._fork(request))
        if isinstance(request, Kill):
            self._kill(request.pid)
        return DoneAnswer()

    def _fork(self, request: F) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        parent, pid = os.getpid(), os.fork()
        if not pid:
            self._begin(parent, request)
        with suppress(OSError):
            os.setpgid(pid, pid)
        self._living.add(pid)
        return pid

    def _begin(self, parent: int, request: F) -> NoReturn:
        """Run the forked process, after closing all descriptors of the zygote."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.closerange(3, _MAX_DESCRIPTORS)
            os.setpgid(0, 0)
            if self._prctl is not None:
                self._prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
            if os.getppid() == parent:
                self._run(request)
                status = 0
        except BaseException:  # noqa: BLE001 - the process exits after any error
            traceback.print_exc()
        finally:
            os._exit(status)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._signals, 4_096)
        while self._living:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self._living.discard(pid)
            cpu_seconds = used.ru_utime + used.ru_stime
            ended = Ended(pid, os.waitstatus_to_exitcode(status), cpu_seconds)
            self._send(EventFrame(encode(ended)))

    def _kill(self, pid: int) -> None:
        """Kill a fork and its processes; a reaped process id may belong to another process."""
        if pid in self._living:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        for pid in tuple(self._living):
            self._kill(pid)

    def _send(self, frame: Frame) -> None:
        with suppress(OSError):  # the parent has ended; the next poll reports it
            self._control.sendall(pack(frame))


def _find_prctl() -> Any:
    if sys.platform != "linux":
        return None
    return ctypes.CDLL(None).prctl
