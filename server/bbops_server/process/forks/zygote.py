"""The loop of a zygote: it has imported everything and opened nothing, and forks when asked.

One thread, no event loop, so that a fork copies nothing that is under way. What is forked ends with
the zygote, and the zygote with its parent.
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
from bbops_server.process.messages.failures import pack_error
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
    write_answer,
)

F = TypeVar("F", bound=RequestMessage[Forked])

_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG: prctl(2)
_MOST_DESCRIPTORS: Final = 4_096


def serve(control: int, kind: type[F], run: Callable[[F], None]) -> NoReturn:
    """Fork until the parent is gone, then end what was forked.

    Args:
        control: the descriptor of the socket to the parent.
        kind: the request that forks.
        run: does the work of a forked process; it never returns here.
    """
    Zygote(socket.socket(fileno=control), kind, run).work()
    os._exit(0)


class Zygote(Generic[F]):
    """Forks, ends what was forked when asked, and tells who has ended."""

    def __init__(self, control: socket.socket, kind: type[F], run: Callable[[F], None]) -> None:
        self._control, self._kind, self._run = control, kind, run
        self._reader: MessageReader[RequestMessage[Any]] = MessageReader(
            "a zygote", (kind, Kill, Ping)
        )
        self._living: set[int] = set()
        self._prctl = _find_prctl()
        self._woken, waking = os.pipe()
        for end in (self._woken, waking):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)

    def work(self) -> None:
        """Answer requests until the parent is gone."""
        gc.collect()
        gc.freeze()  # the collector would write into memory that is shared with what is forked
        looking = select.poll()
        for one in (self._control.fileno(), self._woken):
            looking.register(one, select.POLLIN)
        while True:
            for found, _ in looking.poll():
                if found == self._woken:
                    self._reap()
                elif not self._answer():
                    self._end_all()
                    return

    def _answer(self) -> bool:
        try:
            frame = read_now(self._control)
        except ServerError:  # nothing that comes after it can be understood
            return False
        if frame is None:
            return False
        if isinstance(frame, RequestFrame):
            self._say(self._reply(frame))
        return True

    def _reply(self, asked: RequestFrame) -> Frame:
        try:
            request = self._reader.read(asked.request)
            return AnswerFrame(asked.number, write_answer(request, self._do(request)))
        except Exception as error:  # noqa: BLE001 - the parent gets an answer to everything
            return pack_error(asked.number, error)

    def _do(self, request: RequestMessage[Any]) -> AnswerMessage:
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
        """Be the forked process: nothing of the zygote stays open."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.closerange(3, _MOST_DESCRIPTORS)
            os.setpgid(0, 0)
            if self._prctl is not None:
                self._prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
            if os.getppid() == parent:
                self._run(request)
                status = 0
        except BaseException:  # noqa: BLE001 - whatever it is, it ends here
            traceback.print_exc()
        finally:
            os._exit(status)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._woken, 4_096)
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
            self._say(EventFrame(encode(ended)))

    def _kill(self, pid: int) -> None:
        """End a process with all that it has started; one that was reaped is nobody's any more."""
        if pid in self._living:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def _end_all(self) -> None:
        for pid in tuple(self._living):
            self._kill(pid)

    def _say(self, frame: Frame) -> None:
        with suppress(OSError):  # the parent is gone, which the next look finds
            self._control.sendall(pack(frame))


def _find_prctl() -> Any:
    if sys.platform != "linux":
        return None
    return ctypes.CDLL(None).prctl
