"""A Chromium process without network access, controlled over a pipe.

It has no open port that a page could connect to. Requests of a page are paused, and the printing
code answers them. Traffic that cannot be paused (WebSocket, WebRTC, DNS) fails: the resolver knows
no names, the proxy is closed, and on Linux the network namespace has no connections.
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
"""The longest path of its folder: it creates a socket there, whose path is limited to about 100."""
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
"""Frames of other sites stay in the process of their page, so that their requests are paused."""

Listener = Callable[[str, Any], None]
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class BrowserGone(Exception):
    """The browser has ended."""


class BrowserError(Exception):
    """The browser rejected a command."""


class ChromiumProcess:
    """A browser process. Each print has its own browser context."""

    def __init__(self, program: str, folder: str, *, sandbox: bool) -> None:
        """Args: `folder`: the parent of its temporary folder."""
        self._program, self._sandbox, self._root = program, sandbox, folder
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listeners: dict[str, Listener] = {}
        self._number = 0
        self._is_gone = False

    async def start(self) -> None:
        """Start the browser, and wait for its first answer.

        Raises:
            BrowserGone: it does not start.
        """
        self._folder = tempfile.mkdtemp(prefix="chromium-", dir=self._root)
        command_reader, commands = os.pipe()
        answers, answer_writer = os.pipe()

        def set_descriptors() -> None:  # Chromium reads commands from 3, and writes answers to 4
            reader, writer = os.dup(command_reader), os.dup(answer_writer)
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        try:
            self.process = await asyncio.create_subprocess_exec(
                *_isolation_command(), self._program, *self._arguments(),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL, env=self._environment(), close_fds=False,
                preexec_fn=set_descriptors, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(command_reader)
            os.close(answer_writer)
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

    def _arguments(self) -> list[str]:
        arguments = [*_FLAGS, f"--user-data-dir={self._folder}"]
        return arguments if self._sandbox else [*arguments, "--no-sandbox"]

    def _environment(self) -> dict[str, str]:
        path = os.environ.get("PATH", "/usr/bin:/bin")
        is_short = len(self._folder) <= _MAX_FOLDER
        folder = self._folder if is_short else "/tmp"  # noqa: S108 - it creates its own folders there
        return {"PATH": path, "HOME": self._folder, "LANG": "C.UTF-8", "TMPDIR": folder}

    @property
    def is_gone(self) -> bool:
        """Whether the browser has ended."""
        return self._is_gone or self.process.returncode is not None

    async def send(self, method: str, session: str = "", /, **parameters: Any) -> Any:
        """Send a command and return its result.

        Raises:
            BrowserGone: the browser has ended.
            BrowserError: the browser rejected the command.
        """
        if self._is_gone:
            raise BrowserGone
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        number = self._number
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(_encode(command) + b"\0")
            await self._writer.drain()
            return await future
        except OSError:
            raise BrowserGone from None
        finally:
            self._waiting.pop(number, None)

    async def wait_for(self, event: asyncio.Event) -> None:
        """Wait until an event is set.

        Raises:
            BrowserGone: the browser has ended before.
        """
        waiting = asyncio.create_task(event.wait())
        try:
            await asyncio.wait({waiting, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not event.is_set():
            raise BrowserGone

    def listen(self, session: str, listener: Listener | None) -> None:
        """Set the listener for events of a session; None removes it."""
        if listener is None:
            self._listeners.pop(session, None)
        else:
            self._listeners[session] = listener

    def kill(self) -> None:
        """Kill the browser with all its processes."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """Close the browser, kill its processes, and remove its folder."""
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
        """Return the memory of all its processes; 0 if the system does not report it."""
        sizes = [_memory(pid) for pid in list_descendants(self.process.pid)]
        return sum(own for own, _ in sizes) + max((shared for _, shared in sizes), default=0)

    async def _read(self) -> None:
        try:
            while True:
                self._handle(_decode((await self._reader.readuntil(b"\0"))[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError,
                msgspec.DecodeError):  # fmt: skip
            pass
        finally:
            self._is_gone = True
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(BrowserGone())

    def _handle(self, message: Any) -> None:
        if "id" not in message:
            listener = self._listeners.get(message.get("sessionId", ""))
            if listener is not None:
                listener(message["method"], message.get("params", {}))
            return
        future = self._waiting.get(message["id"])
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(BrowserError(str(message["error"].get("message", ""))[:300]))
        else:
            future.set_result(message.get("result", {}))


@cache
def _isolation_command() -> tuple[str, ...]:
    """Return the command that starts a program without network; empty if not permitted."""
    program = shutil.which("unshare") if sys.platform == "linux" else None
    if program is None:
        return ()
    command = (program, "--user", "--map-current-user", "--net", "--")
    result = subprocess.run(  # noqa: S603 - fixed arguments
        [*command, "/bin/true"], check=False, capture_output=True, timeout=10
    )
    return command if result.returncode == 0 else ()


def list_descendants(pid: int) -> list[int]:
    """Return a process and its descendants; alone if the system does not report them."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                children.setdefault(_parent(int(folder.name)), []).append(int(folder.name))
    pids, left = [], [pid]
    while left:
        parent = left.pop()
        pids.append(parent)
        left += children.get(parent, [])
    return pids


def _memory(pid: int) -> tuple[int, int]:
    """Return the private and the shared memory of a process in bytes."""
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


# ---- Find the browser of the system, and check that it can print

NAMES: Final = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)  # fmt: skip
NEEDS: Final = (
    "htmlToPdf needs Chromium on the server: apt-get install chromium (Debian), dnf install"
    " chromium (Fedora), or its path as 'chromium: {program: …}' in server.yaml"
)
NEEDS_SANDBOX: Final = (
    "Chromium's sandbox does not work for root: run the server as another user, or say"
    " 'chromium: {sandbox: false}' in server.yaml"
)
NO_SANDBOX: Final = "Chromium runs without its sandbox"


def find_program(program: str = "") -> str:
    """Return the path of a browser; empty if none is installed."""
    for name in (program,) if program else NAMES:
        if path := shutil.which(name):
            return path
    return ""


def find_problem(program: str, *, sandbox: bool) -> str:
    """Return the reason why printing is not possible; empty if it is possible."""
    if not find_program(program):
        return NEEDS
    if sandbox and sys.platform != "win32" and os.geteuid() == 0:
        return NEEDS_SANDBOX
    return ""
