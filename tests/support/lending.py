"""Processes of a server that are forked from one that has imported everything, not executed anew.

A server of a test (`tests.support.warm`) starts its children as `python -m MODULE`. `lend` has a
clean process beside it, without threads, fork them in place of that: children of the server all
the same, with the descriptors, the environment and the words of a command line that they ask for.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import fcntl
import json
import os
import runpy
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

MODULES: Final = (
    "bbops_server.data_plane", "bbops_server.data_plane.work", "bbops_server.publish.build",
)  # fmt: skip
NAME: Final = "lender"
"""What the process beside a server is called: none of the server's own."""
ROOM: Final = "-" * 400
"""Of a command line, for the words of another one."""

_MOST_BYTES: Final = 1 << 20
_FAR: Final = 512  # above any descriptor that a child asks for
_SET_NAME, _SET_CHILD_SUBREAPER = 15, 36  # prctl(2)


def lend() -> None:
    """Have the children of this process forked. It has no threads yet."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        ours.close()
        _serve(theirs)
    theirs.close()
    execute = asyncio.create_subprocess_exec

    async def create(*command: Any, **options: Any) -> Any:
        python, *words = command
        if python != sys.executable or words[2:3] == [] or words[2] not in MODULES:
            return await execute(*command, **options)
        order = {"module": words[2], "words": words[3:], "env": dict(options["env"])}
        return _Forked(_ask(ours, order, options["pass_fds"]))

    asyncio.create_subprocess_exec = create  # type: ignore[assignment]


class _Forked:
    """A child, with what the server uses of a process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = loop.create_future()
        loop.add_reader(watched := os.pidfd_open(pid), self._reap, watched)

    def kill(self) -> None:
        if not self._ended.done():
            os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def _reap(self, watched: int) -> None:
        self._ended.get_loop().remove_reader(watched)
        os.close(watched)
        _, status = os.waitpid(self.pid, 0)
        self._ended.set_result(os.waitstatus_to_exitcode(status))


def _ask(lender: socket.socket, order: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    _control_process(_SET_CHILD_SUBREAPER, 1)  # so an orphan of the lender is a child of ours
    try:
        given = {"fds": list(descriptors), **order}
        socket.send_fds(lender, [json.dumps(given).encode()], descriptors)
        return int(lender.recv(64))
    finally:
        _control_process(_SET_CHILD_SUBREAPER, 0)


def _serve(orders: socket.socket) -> NoReturn:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _control_process(_SET_NAME, NAME.encode())
    while True:
        order, given, _, _ = socket.recv_fds(orders, _MOST_BYTES, 16)
        if not order:
            os._exit(0)
        reading, writing = os.pipe()
        if not (between := os.fork()):
            if not (pid := os.fork()):
                orders.close()
                _become(json.loads(order), given)
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        with suppress(OSError):  # the server is gone
            orders.send(os.read(reading, 64))
        for one in (reading, writing, *given):
            os.close(one)


def _become(order: Mapping[str, Any], given: Sequence[int]) -> NoReturn:
    os.setsid()
    _control_process(_SET_NAME, b"python")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    far = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _FAR) for one in given]
    os.closerange(3, _FAR)
    for wanted, one in zip(order["fds"], far, strict=True):
        os.dup2(one, wanted)
        os.close(one)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ.clear()
    os.environ.update(order["env"])
    command = [sys.executable, "-P", "-m", order["module"], *order["words"]]
    _rewrite_command_line(command)
    sys.argv = command[3:]
    module = order["module"]
    run_to_its_end(lambda: runpy.run_module(module, run_name="__main__", alter_sys=True))


def run_to_its_end(program: Callable[[], object]) -> NoReturn:
    """Run a program and end as it does, without tidying up what was imported before it."""
    status: object = 0
    try:
        program()
    except SystemExit as error:
        status = error.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as the interpreter does with what nobody has caught
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def _rewrite_command_line(command: Sequence[str]) -> None:
    """Show other words to whoever lists processes: they stand in the memory of this one."""
    first, last = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:47])
    words = b"\0".join(word.encode() for word in command) + b"\0"
    with Path("/proc/self/mem").open("r+b", 0) as memory:
        memory.seek(first)
        memory.write(words[: last - first].ljust(last - first, b"\0"))


def _control_process(what: int, value: int | bytes) -> None:
    ctypes.CDLL(None).prctl(what, value, 0, 0, 0)
