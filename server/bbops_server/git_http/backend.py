"""Requests of git clients: their address, and their exchange with `git http-backend`."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal, NamedTuple, get_args

from bbops.source.git.environment import Limits, bounded


class Refusal(Exception):
    """A request is refused. Git prints the text, except after it has sent a body."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message = HTTPStatus(status), message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


MAX_BODY_BYTES: Final = 64 << 20
"""The largest push. Git refuses a larger one itself, with a message that its client prints."""

MAX_WANTED_BYTES: Final = 10 << 20
"""The largest request of a fetch, unpacked. Git compares its own limit (http.maxRequestBuffer) with
compressed bytes only: 9 MB of gzip made it allocate 3.6 GiB."""

MOST_READ_BYTES: Final = 4 * MAX_BODY_BYTES
"""The part of a body that is read: a client does not see a response while it sends."""

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
        tasks = [asyncio.create_task(work) for work in (self._answer(), self._feed(), self._log())]
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                done, _ = await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
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
        """End the processes, first by a signal that they handle, so that no lock is left."""
        if self._process.returncode is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    _signal(self._process.pid, signal.SIGTERM)
                    while _signal(self._process.pid, 0):  # noqa: ASYNC110 - nobody tells
                        await asyncio.sleep(0.01)
            _signal(self._process.pid, signal.SIGKILL)
        for task in tasks:
            task.cancel()
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


# ---- Read what a git client asks for: one of three addresses below `/git/NAME.git`, and no other

Service = Literal["git-upload-pack", "git-receive-pack"]

SERVICES: Final[tuple[Service, ...]] = get_args(Service)

_ADDRESS: Final = re.compile(
    r"/git/(?P<project>[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99})\.git/(?P<verb>info/refs|git-[a-z-]+)"
)
"""The raw path: it is not decoded, so it cannot lead elsewhere."""

_QUERIES: Final = {f"service={one}".encode(): one for one in SERVICES}

_PROTOCOL: Final = re.compile(r"version=[0-2]")

_NOTHING: Final = "repository not found"

_DUMB: Final = "this server speaks git's smart protocol only; use git 1.6.6 or newer"


@dataclass(frozen=True, slots=True)
class GitRequest:
    """One request of a git client.

    Attributes:
        is_greeting: it asks which refs there are; the exchange itself follows.
        variables: what git's own program has to know of it, as CGI names it.
        is_packed: its body is gzip, of which git's program hears nothing.
    """

    project: str
    service: Service
    is_greeting: bool
    variables: dict[str, str]
    is_packed: bool = False

    @property
    def is_push(self) -> bool:
        """Whether it is about a push."""
        return self.service == "git-receive-pack"


def read_request(scope: Any) -> GitRequest:
    """Return the git request in an HTTP request.

    Raises:
        Refusal: it is not a request of git's smart protocol.
    """
    found = _ADDRESS.fullmatch(scope["raw_path"].decode("latin-1"))
    if found is None:
        raise Refusal(404, _NOTHING)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    project, verb = found["project"], found["verb"]
    if verb == "info/refs":
        return _read_greeting(project, scope, headers)
    service = next((one for one in SERVICES if one == verb), None)
    if service is None:
        raise Refusal(404, _NOTHING)
    if scope["method"] != "POST":
        raise Refusal(405, f"'{service}' needs POST", allow="POST")
    if headers.get("content-type") != f"application/x-{service}-request":
        raise Refusal(415, f"expected the content type 'application/x-{service}-request'")
    is_packed = _is_packed(headers)
    variables = _variables(service, headers, is_packed=is_packed)
    return GitRequest(project, service, is_greeting=False, variables=variables, is_packed=is_packed)


def _read_greeting(project: str, scope: Any, headers: Mapping[str, str]) -> GitRequest:
    service = _QUERIES.get(scope["query_string"])
    if service is None:
        raise Refusal(403, _DUMB)
    if scope["method"] != "GET":
        raise Refusal(405, "refs need GET", allow="GET")
    more = {
        "PATH_INFO": "/info/refs", "REQUEST_METHOD": "GET", "QUERY_STRING": f"service={service}",
    }  # fmt: skip
    return GitRequest(project, service, is_greeting=True, variables=_protocol(headers) | more)


def _is_packed(headers: Mapping[str, str]) -> bool:
    if "content-encoding" not in headers:
        return False
    if headers["content-encoding"] not in {"gzip", "x-gzip"}:
        raise Refusal(415, "expected a body that is plain or gzip")
    return True


def _variables(
    service: Service, headers: Mapping[str, str], *, is_packed: bool
) -> dict[str, str]:  # fmt: skip
    values = {
        "PATH_INFO": f"/{service}", "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": f"application/x-{service}-request",
    }  # fmt: skip
    if "content-length" in headers and not is_packed:  # without one, git reads to the end
        values["CONTENT_LENGTH"] = headers["content-length"]
    return values | _protocol(headers)


def _protocol(headers: Mapping[str, str]) -> dict[str, str]:
    given = headers.get("git-protocol", "")
    return {"GIT_PROTOCOL": given} if _PROTOCOL.fullmatch(given) else {}


_PIECE: Final = 1 << 18

_GZIP: Final = zlib.MAX_WBITS | 16


class Unpacking:
    """The body of one request; `most_bytes` of it are taken once it is unpacked."""

    def __init__(self, most_bytes: int) -> None:
        self._gzip, self._most, self._size = zlib.decompressobj(_GZIP), most_bytes, 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of a part of the body, in pieces.

        Raises:
            Refusal: it is not gzip, or too much.
        """
        while data:
            try:
                piece = self._gzip.decompress(data, _PIECE)
            except zlib.error:
                raise Refusal(400, "the body is not valid gzip, as Content-Encoding says") from None
            data = self._gzip.unconsumed_tail
            self._size += len(piece)
            if self._size > self._most:
                most = f"{self._most >> 20} MiB"
                raise Refusal(413, f"a request may have at most {most} once it is unpacked")
            yield piece
