"""Hand one request to `git http-backend`, bounded in time and size, and its answer back."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from bbops.source.git.environment import Limits, bounded
from bbops_server.git_http.request import Refusal, Unpacking

MAX_BODY_BYTES: Final = 64 << 20
"""Of a push. Git itself refuses what is larger, with words that its client shows."""

MAX_WANTED_BYTES: Final = 10 << 20
"""Of what a fetch says that it has and wants: git's own bound (http.maxRequestBuffer), which it
holds against packed bytes alone. 9 MB of gzip made it allocate 3.6 GiB."""

MOST_READ_BYTES: Final = 4 * MAX_BODY_BYTES
"""What is read of a body to its end: a client that still sends does not hear an answer."""

IDLE_SECONDS: Final = 60.0
WHOLE_SECONDS: Final = 300.0
_NICENESS: Final = 10  # requests of the live release go first
FETCH_LIMITS: Final = Limits(
    seconds=WHOLE_SECONDS, file_bytes=2 << 30, memory_bytes=4 << 30, niceness=_NICENESS
)
PUSH_LIMITS: Final = Limits(
    seconds=15, file_bytes=2 << 30, memory_bytes=1 << 30, niceness=_NICENESS
)  # fmt: skip
"""Some hundred bytes of deltas may unpack to gigabytes before any hook can refuse them.

On eight cores these seconds are two minutes of the processor.
"""

_END_SECONDS: Final = 2.0
_CHUNK: Final = 1 << 16
_COMPLAINT_BYTES: Final = 4 << 10

TOO_LARGE: Final = Refusal(413, f"a push may bring at most {MAX_BODY_BYTES >> 20} MiB")

_log = logging.getLogger(__name__)


class Line(NamedTuple):
    """The two ends of a client's request, as ASGI has them."""

    receive: Any
    send: Any


class Gone(Exception):
    """The client has left."""


class Exchange:
    """One request, one process of git with all that it starts."""

    def __init__(
        self, line: Line, environment: Mapping[str, str], limits: Limits,
        unpacking: Unpacking | None = None,
    ) -> None:  # fmt: skip
        """`unpacking` is for a body that is gzip."""
        self._line, self._environment, self._limits = line, environment, limits
        self._unpacking = unpacking
        self._has_begun, self._is_fed = False, asyncio.Event()
        self._process: asyncio.subprocess.Process

    async def run(self) -> None:
        """Pass everything on, until git has answered or the client has gone.

        Raises:
            Refusal: it takes too long or brings too much, and nothing was answered yet.
        """
        self._process = await asyncio.create_subprocess_exec(
            *bounded(self._limits), "git", "http-backend", env=self._environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        tasks = [asyncio.create_task(one) for one in (self._answer(), self._feed(), self._log())]
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                done, _ = await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
        except Gone:
            return
        except asyncio.CancelledError:
            if not self._has_begun:
                raise Refusal(503, "the server is shutting down; nothing was changed") from None
        except TimeoutError:
            if not self._has_begun:
                raise Refusal(408, f"this took longer than {WHOLE_SECONDS:g} seconds") from None
        except Refusal:
            if not self._has_begun:
                raise
        finally:
            await asyncio.shield(asyncio.create_task(self._end(tasks)))

    # ---- from the client
    async def _feed(self) -> None:
        """Pass the body on; then wait for the client to leave."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it is a pipe
        size, is_more = 0, True
        while is_more:
            message = await self._hear()
            size += len(message.get("body", b""))
            if size > MOST_READ_BYTES:
                raise TOO_LARGE
            for piece in self._pieces(message.get("body", b"")):
                with suppress(ConnectionError):  # git has heard enough
                    stdin.write(piece)
                    await stdin.drain()
            is_more = message.get("more_body", False)
        stdin.close()
        self._is_fed.set()
        while True:
            await self._hear(None)

    def _pieces(self, data: bytes) -> Iterable[bytes]:
        return [data] if self._unpacking is None else self._unpacking.feed(data)

    async def _hear(self, seconds: float | None = IDLE_SECONDS) -> Any:
        try:
            async with asyncio.timeout(seconds):
                message = await self._line.receive()
        except TimeoutError:
            raise Refusal(408, f"no data was received for {seconds:g} seconds") from None
        if message["type"] == "http.disconnect":
            raise Gone
        return message

    # ---- from git
    async def _answer(self) -> None:
        """Send what git answers, once the client has said all: it listens only then."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - it is a pipe
        start = await _read_head(stdout)
        await self._is_fed.wait()
        while chunk := await stdout.read(_CHUNK):
            await self._send(start, chunk)
        await self._send(start, b"", is_more=False)

    async def _send(self, start: Any, chunk: bytes, *, is_more: bool = True) -> None:
        if not self._has_begun:
            self._has_begun = True
            await self._line.send(start)
        body = {"type": "http.response.body", "body": chunk, "more_body": is_more}
        await self._line.send(body)

    async def _log(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 - it is a pipe
        if complaint := await stderr.read(_COMPLAINT_BYTES):
            _log.warning("git http-backend: %s", complaint.decode(errors="replace").strip())
        while await stderr.read(_CHUNK):
            pass

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        """End what still runs: asked first, so that no lock of a ref stays behind."""
        if self._process.returncode is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    _signal(self._process.pid, signal.SIGTERM)
                    while _signal(self._process.pid, 0):  # noqa: ASYNC110 - nobody tells
                        await asyncio.sleep(0.01)
            _signal(self._process.pid, signal.SIGKILL)
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._process.wait()


def _signal(group: int, number: int) -> bool:
    """Signal all processes of a group; False when none is left."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS: of a group of the dead, permission
        return False
    return True


async def _read_head(stdout: asyncio.StreamReader) -> Any:
    """Return the start of the answer: CGI, RFC 3875 section 6."""
    status, headers = 200, []
    while line := (await stdout.readline()).rstrip(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"status":
            status = int(value.split()[0])
        else:
            headers.append((name.lower(), value.strip()))
    if not headers:
        raise Refusal(500, "git failed; see the server's log")
    return {"type": "http.response.start", "status": status, "headers": headers}
