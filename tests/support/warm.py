"""`bbops` in a process of its own that has imported everything before: forked, not executed anew.

A server imports for two seconds of CPU, and hundreds of tests start one. What starts cold is shown
by tests that execute `python -m bbops`, as those of `tests/server/test_starting.py` do.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final, NoReturn, Self

from tests.support import lending

_MOST_BYTES: Final = 1 << 20
COLD: Final = "BBOPS_TESTS_COLD"
"""Set in the environment of one that is executed, as where a test looks at it from outside."""

_MODULES: Final = os.environ.get("PYTHONPATH")
_PACKAGES: Final = ("bbops", "bbops_server")
_LIBRARIES: Final = (
    "anyio._backends._asyncio", "cryptography.x509", "litestar.middleware.allowed_hosts",
    "litestar.middleware.csrf", "sqlalchemy.dialects.sqlite.aiosqlite", "uvicorn.lifespan.on",
)  # fmt: skip
"""Which are imported when a server begins, not when a module of ours is."""

_PROGRAMS: Final = ("__main__", "zygote")  # a signal does nothing once they are imported
_SERVING: Final = ("serve", "dev")


def start(
    arguments: Sequence[object], *, cwd: Path, env: Mapping[str, str], script: Path | None = None,
    **streams: Any,
) -> Process | subprocess.Popen[str]:  # fmt: skip
    """Start `bbops`, or a script, with these arguments; cold as its environment says.

    That is where it names other modules or has `COLD`.
    """
    if env.get("PYTHONPATH") == _MODULES and COLD not in env:
        return Process(arguments, cwd=cwd, env=env, script=script, **streams)
    program = ["-m", "bbops"] if script is None else [str(script)]
    command = [sys.executable, "-P", *program, *map(str, arguments)]
    return subprocess.Popen(command, cwd=cwd, env=env, text=True, **streams)


class Process:
    """A running `bbops`, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self, arguments: Sequence[object], *, cwd: Path, env: Mapping[str, str],
        stdin: int | IO[Any] | None = None, stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None, script: Path | None = None,
    ) -> None:  # fmt: skip
        """Use `start`; or give the script of a server, in place of `bbops`."""
        self.returncode: int | None = None
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        ours, theirs = socket.socketpair()
        reads: list[IO[str] | None] = []
        with theirs, Path(os.devnull).open("rb") as nothing:
            given, opened = list[int](), list[int]()
            if stdin == subprocess.PIPE:
                reading, writing = os.pipe()
                opened.append(reading)
                given.append(reading)
                self.stdin = os.fdopen(writing, "w")
            else:
                given.append(_descriptor(stdin, nothing))
            for stream, standard in ((stdout, 1), (stderr, 2)):
                if stream == subprocess.PIPE:
                    reading, writing = os.pipe()
                    opened.append(writing)
                    reads.append(os.fdopen(reading))
                    given.append(writing)
                else:
                    reads.append(None)
                    given.append(standard if stream is None else _descriptor(stream, nothing))
            self.stdout, self.stderr = reads
            order = {
                "args": list(map(str, arguments)), "cwd": str(cwd), "env": dict(env),
                "script": str(script or ""),
            }  # fmt: skip
            self._said = ours
            self.pid = _warm().fork(order, [*given, theirs.fileno()])
            for one in opened:
                os.close(one)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()

    def poll(self) -> int | None:
        """Return the exit status if it has ended; negative is a signal."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once it has ended."""
        if self.returncode is None:
            ended, _, _ = select.select([self._said], [], [], timeout)
            if not ended:
                assert timeout is not None
                raise subprocess.TimeoutExpired("bbops", timeout)
            with self._said:
                # without a word the warm process is gone, and has taken this one along
                self.returncode = int(self._said.recv(64) or -signal.SIGKILL)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still lives."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Tell it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def run(
    arguments: Sequence[object], *, cwd: Path, env: Mapping[str, str], given: str | None = None,
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run `bbops` to its end; `given` is its standard input."""
    with (
        tempfile.TemporaryFile("w+") as read, tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as error,
    ):  # fmt: skip
        read.write(given or "")
        read.seek(0)
        process = start(arguments, cwd=cwd, env=env, stdin=read, stdout=out, stderr=error)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        texts = []
        for file in (out, error):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(list(map(str, arguments)), process.returncode or 0, *texts)


def _descriptor(stream: int | IO[Any] | None, nothing: IO[bytes]) -> int:
    if stream is None or stream == subprocess.DEVNULL:
        return nothing.fileno()
    return stream if isinstance(stream, int) else stream.fileno()


class _Warm:
    """The process that has imported everything, and forks when asked; one for each tester."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            code = f"from tests.support.warm import serve; serve({theirs.fileno()})"
            self._process = subprocess.Popen(
                [sys.executable, "-c", code, lending.ROOM], pass_fds=[theirs.fileno()],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )  # fmt: skip
        self._socket = ours

    def fork(self, order: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """Return the process id of a new `bbops`."""
        socket.send_fds(self._socket, [json.dumps(order).encode()], descriptors)
        return int(self._socket.recv(64))

    def end(self) -> None:
        """End it, and what it has forked."""
        self._socket.close()
        self._process.wait()


@cache
def _warm() -> _Warm:
    warm = _Warm()
    atexit.register(warm.end)
    return warm


def serve(control: int) -> None:
    """Fork a `bbops` for each order, say how it ended, and kill all when the tester is gone."""
    _import_everything()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, waking = os.pipe()
    for end in (woken, waking):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    living: dict[int, int] = {}
    orders = socket.socket(fileno=control)
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            _reap(woken, living)
        if control not in ready:
            continue
        order, given, _, _ = socket.recv_fds(orders, _MOST_BYTES, 4)
        if not order:
            break
        pid = os.fork()
        if not pid:
            for one in (woken, waking, control, *living.values()):
                os.close(one)
            _become(json.loads(order), given)
        for one in given[:3]:
            os.close(one)
        living[pid] = given[3]
        orders.send(str(pid).encode())
    for pid in living:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _import_everything() -> None:
    for name in _PACKAGES:
        for path in import_module(name).__path__:
            for file in sorted(Path(path).rglob("*.py")):
                if file.stem not in _PROGRAMS:
                    words = (name, *file.relative_to(path).with_suffix("").parts)
                    import_module(".".join(words).removesuffix(".__init__"))
    for name in _LIBRARIES:
        import_module(name)


def _reap(woken: int, living: dict[int, int]) -> None:
    with suppress(BlockingIOError):
        os.read(woken, 4_096)
    while living:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        said = living.pop(pid)
        with suppress(OSError):  # nobody waits for it any more
            os.write(said, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(said)


def _become(order: Mapping[str, Any], given: Sequence[int]) -> NoReturn:
    """Be `bbops` with these arguments, in this folder and environment."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.close(given[3])
    for place, one in enumerate(given[:3]):
        os.dup2(one, place)
    os.closerange(3, 256)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    tempfile.tempdir = None
    if "PYTHONFAULTHANDLER" in os.environ:
        faulthandler.enable()
    if order["script"] or order["args"][0] in _SERVING:
        lending.lend()
    sys.argv = [order["script"] or "bbops", *order["args"]]
    if script := order["script"]:
        lending.run_to_its_end(lambda: runpy.run_path(script, run_name="__main__"))
    from bbops.interfaces.cli import start  # noqa: PLC0415 - only here is it a program

    lending.run_to_its_end(start)
