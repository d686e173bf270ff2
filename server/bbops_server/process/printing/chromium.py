"""One Chromium that has no network of its own, spoken to over a pipe.

No port is open that a page could reach. What a page asks for is paused and handed to whoever
prints. What cannot be paused (WebSocket, WebRTC, look-ups of names) meets a resolver without
names, a closed proxy, and on Linux a network without any connection.
Source: https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

START_SECONDS: Final = 30.0
_END_SECONDS: Final = 3.0
_MAX_FOLDER: Final = 50
"""Of the path in which it makes a socket: the system takes about 100 characters."""
_MAX_MESSAGE_BYTES: Final = 128 << 20
_OFF: Final = (
    "Translate,MediaRouter,OptimizationHints,DialMediaRouteProvider,NetworkPrediction,"
    "IsolateOrigins,site-per-process"
)
_FLAGS: Final = (
    "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
    "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-breakpad",
    "--mute-audio", "--no-pings", "--disable-dev-shm-usage", "--disable-domain-reliability",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>", "--font-render-hinting=none",
    "--disable-site-isolation-trials",
    f"--disable-features={_OFF}",
)  # fmt: skip
"""Frames of other sites stay in the process of their page, so that all that they ask is paused."""

Listener = Callable[[str, Any], None]
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class BrowserGone(Exception):
    """The browser has ended."""


class BrowserError(Exception):
    """The browser does not do what it was told."""


class ChromiumProcess:
    """A process, in which each print has a context of its own."""

    def __init__(self, program: str, folder: str, *, sandbox: bool) -> None:
        """Args: `folder`: in which it has one of its own while it runs."""
        self._program, self._sandbox, self._root = program, sandbox, folder
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listening: dict[str, Listener] = {}
        self._number = 0
        self._is_gone = False

    async def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            BrowserGone: it does not.
        """
        self._folder = tempfile.mkdtemp(prefix="chromium-", dir=self._root)
        its_commands, commands = os.pipe()
        answers, its_answers = os.pipe()

        def place() -> None:  # Chromium reads commands from 3, and writes answers to 4
            given, taken = os.dup(its_commands), os.dup(its_answers)
            os.dup2(given, 3)
            os.dup2(taken, 4)

        try:
            self.process = await asyncio.create_subprocess_exec(
                *_isolation_command(), self._program, *self._words(),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL, env=self._environment(), close_fds=False,
                preexec_fn=place, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(its_commands)
            os.close(its_answers)
        await self._connect(commands, answers)
        try:
            async with asyncio.timeout(START_SECONDS):
                await self.send("Browser.getVersion")
        except (TimeoutError, BrowserError, OSError):
            await self.stop()
            raise BrowserGone from None
        except BrowserGone:
            await self.stop()
            raise

    async def _connect(self, commands: int, answers: int) -> None:
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=_MAX_MESSAGE_BYTES)
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), os.fdopen(answers, "rb", 0)
        )
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(commands, "wb", 0)
        )
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        self._reading = asyncio.create_task(self._read())

    def _words(self) -> list[str]:
        words = [*_FLAGS, f"--user-data-dir={self._folder}"]
        return words if self._sandbox else [*words, "--no-sandbox"]

    def _environment(self) -> dict[str, str]:
        path = os.environ.get("PATH", "/usr/bin:/bin")
        is_short = len(self._folder) <= _MAX_FOLDER
        folder = self._folder if is_short else "/tmp"  # noqa: S108 - it makes folders of its own
        return {"PATH": path, "HOME": self._folder, "LANG": "C.UTF-8", "TMPDIR": folder}

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        return self._is_gone or self.process.returncode is not None

    async def send(self, method: str, session: str = "", /, **parameters: Any) -> Any:
        """Return the result of a command.

        Raises:
            BrowserGone: it has ended.
            BrowserError: it refuses.
        """
        if self._is_gone:
            raise BrowserGone
        self._number += 1
        told: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            told["sessionId"] = session
        number = self._number
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(_encode(told) + b"\0")
            await self._writer.drain()
            return await future
        except OSError:
            raise BrowserGone from None
        finally:
            self._waiting.pop(number, None)

    async def wait_for(self, event: asyncio.Event) -> None:
        """Return once an event is set.

        Raises:
            BrowserGone: the browser has ended first.
        """
        waiting = asyncio.create_task(event.wait())
        try:
            await asyncio.wait({waiting, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not event.is_set():
            raise BrowserGone

    def listen(self, session: str, listener: Listener | None) -> None:
        """Let a listener hear the events of a session; None for nobody."""
        if listener is None:
            self._listening.pop(session, None)
        else:
            self._listening[session] = listener

    def kill(self) -> None:
        """End it at once, with all that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """End it, with all that it has started."""
        with suppress(TimeoutError, BrowserGone, BrowserError):
            async with asyncio.timeout(_END_SECONDS):
                await self.send("Browser.close")
                await self.process.wait()
        self.kill()
        await self.process.wait()
        self._reading.cancel()
        self._writer.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def memory_bytes(self) -> int:
        """Return the memory of all its processes; 0 where nobody tells."""
        found = [_memory(pid) for pid in list_descendants(self.process.pid)]
        return sum(own for own, _ in found) + max((shared for _, shared in found), default=0)

    async def _read(self) -> None:
        try:
            while True:
                self._take(_decode((await self._reader.readuntil(b"\0"))[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError,
                msgspec.DecodeError):  # fmt: skip
            pass
        finally:
            self._is_gone = True
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(BrowserGone())

    def _take(self, told: Any) -> None:
        if "id" not in told:
            listener = self._listening.get(told.get("sessionId", ""))
            if listener is not None:
                listener(told["method"], told.get("params", {}))
            return
        future = self._waiting.get(told["id"])
        if future is None or future.done():
            return
        if "error" in told:
            future.set_exception(BrowserError(str(told["error"].get("message", ""))[:300]))
        else:
            future.set_result(told.get("result", {}))


@cache
def _isolation_command() -> tuple[str, ...]:
    """Return what starts a program in a network without connections, where the system lets us."""
    program = shutil.which("unshare") if sys.platform == "linux" else None
    if program is None:
        return ()
    words = (program, "--user", "--map-current-user", "--net", "--")
    tried = subprocess.run(  # noqa: S603 - our own words
        [*words, "/bin/true"], check=False, capture_output=True, timeout=10
    )
    return words if tried.returncode == 0 else ()


def list_descendants(pid: int) -> list[int]:
    """Return a process and all that it has started; itself alone where nobody tells."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                children.setdefault(_parent(int(folder.name)), []).append(int(folder.name))
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        left += children.get(one, [])
    return found


def _memory(pid: int) -> tuple[int, int]:
    """Return the bytes that a process has alone, and those that it shares."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - as in `_parent`
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0, 0
    page = os.sysconf("SC_PAGE_SIZE")
    return (resident - shared) * page, shared * page


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - thousands are read at once
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
