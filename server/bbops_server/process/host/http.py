"""The door to other servers: never to this machine or its network, unless the settings say so."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

import httpcore

from bbops.base.addresses import split
from bbops.base.host import HttpRequest, HttpResponse, MailRequest
from bbops.runtime.values.failures import HttpFailure, Unavailable
from bbops.runtime.vendors._deliver import deliver
from bbops_server.process.host.egress import EgressPolicy

MAX_BODY_BYTES: Final = 10_000_000
MAX_REDIRECTS: Final = 5
MAX_OPEN: Final = 200
"""Answers that a process reads as they come at the same time; see `OutsideHttp.open`."""
_MAX_ADDRESSES: Final = 4
_COMPRESSED: Final = frozenset({"gzip", "x-gzip", "deflate"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NEUTRAL_HEADERS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""Headers that say nothing of who asks: keys have many names."""
_NOT_FOLLOWED: Final = "it redirects, and redirects are not followed here"
_SAFE: Final = "/%:@!$&'()*+,;=~-._?"


class _PrivateAddress(Exception):
    """A name stands for no address that may be asked."""


class _ForbiddenHost(Exception):
    """A draft may not reach a host."""


class _Progress:
    """How far a request has come: it may be carried out once its first byte is sent."""

    __slots__ = ("is_sent",)

    def __init__(self) -> None:
        self.is_sent = False

    async def trace(self, event: str, _: Mapping[str, Any]) -> None:
        """Take what the connection tells of itself."""
        if event.endswith("send_request_headers.started"):
            self.is_sent = True


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Looks a name up once, and connects to the very address it has checked."""

    def __init__(self, egress: EgressPolicy) -> None:
        self.egress, self.inner = egress, httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,  # noqa: ASYNC109 - its signature
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        error: Exception = _PrivateAddress(host)
        for address in await self.addresses(host, port):
            try:
                return await self.inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failure:
                error = failure
        raise error

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a name that may be asked."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise httpcore.ConnectError(f"'{host}' has no address") from None
        every = dict.fromkeys(str(one[4][0]) for one in found)
        return [one for one in every if self.egress.allows(host, one)][:_MAX_ADDRESSES]

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise _PrivateAddress("a socket")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _CheckedPool:
    """Connections under rules of their own: one that is open for some is not used for others."""

    __slots__ = ("backend", "pool")

    def __init__(self, egress: EgressPolicy, *, most: int = 100) -> None:
        self.backend = _CheckedBackend(egress)
        self.pool = httpcore.AsyncConnectionPool(
            max_connections=most, max_keepalive_connections=20, keepalive_expiry=30.0,
            network_backend=self.backend,
        )  # fmt: skip


class OutsideHttp:
    """The door `bbops.base.host.Http`. Each address is checked as it is connected to."""

    def __init__(
        self, egress: EgressPolicy | None = None, *, max_body_bytes: int = MAX_BODY_BYTES,
        max_redirects: int = MAX_REDIRECTS, most_open: int = MAX_OPEN,
    ) -> None:  # fmt: skip
        """Make one.

        Args:
            egress: what may be asked; without it what is public.
            most_open: answers that are read as they come at the same time, see `open`.
        """
        self._max_body_bytes, self._max_redirects = max_body_bytes, max_redirects
        self._ways = {
            False: _CheckedPool(egress or EgressPolicy()),
            True: _CheckedPool(EgressPolicy()),
        }
        self._streams = _CheckedPool(egress or EgressPolicy(), most=most_open)
        self._open, self._most_open = 0, most_open

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the answer; each redirect is a request of its own, checked like the first.

        Raises:
            HttpFailure: `httpTimeout`, `httpUnreachable`, `httpRefused`, `httpTooLarge` or
                `httpInvalid`.
        """
        progress = _Progress()
        with _translate_errors(request, progress):
            async with asyncio.timeout(request.timeout_seconds):
                return await self._follow(request, progress)

    async def open(self, request: HttpRequest) -> StreamedResponse:
        """Return the answer once its headers are there; no redirect is followed.

        Such answers have connections of their own: however long they go on, other requests wait
        for none of them.

        Raises:
            HttpFailure: as `send`.
            Unavailable: as many answers are open as may be.
        """
        if self._open >= self._most_open:
            raise Unavailable(
                "tooManyStreams", "too many answers of other servers are read at the same time",
                hint=f"a process reads {self._most_open} at the same time", retry_seconds=1,
            )  # fmt: skip
        self._open += 1
        progress, closing = _Progress(), AsyncExitStack()
        closing.callback(self._forget_open)
        try:
            with _translate_errors(request, progress):
                ends_at = asyncio.get_running_loop().time() + request.timeout_seconds
                async with asyncio.timeout_at(ends_at):
                    asked = self._ask(request, progress, self._streams)
                    response = await closing.enter_async_context(asked)
                most = request.most_bytes or self._max_body_bytes
                return StreamedResponse(request, response, ends_at, most, closing)
        except BaseException:
            await closing.aclose()
            raise

    def _forget_open(self) -> None:
        self._open -= 1

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Give mails to a server over SMTP; return the recipients that it refused.

        Raises:
            HttpFailure: it took nothing, or the address is not allowed.
        """
        backend = self._ways[False].backend
        if not backend.egress.knows(request.host, request.port):
            raise _not_allowed(_ForbiddenHost(f"{request.host}:{request.port}"))
        try:
            addresses = await backend.addresses(request.host, request.port)
        except (httpcore.ConnectError, UnicodeError):
            message = f"'{request.host}' cannot be reached"
            raise HttpFailure("httpUnreachable", message) from None
        if not addresses:
            raise _not_allowed(_PrivateAddress(request.host))
        return await deliver(request, addresses)

    def allow(self, egress: EgressPolicy, rows: EgressPolicy | None = None) -> None:
        """Let these be asked from now on; connections that are open stay so for half a minute.

        Args:
            egress: what a project's own files may ask.
            rows: what addresses in rows may be; without it what is public.
        """
        self._ways[False].backend.egress = self._streams.backend.egress = egress
        self._ways[True].backend.egress = rows or EgressPolicy(only=egress.only)

    async def close(self) -> None:
        """Close the connections."""
        for way in (*self._ways.values(), self._streams):
            await way.pool.aclose()

    async def _follow(self, request: HttpRequest, progress: _Progress) -> HttpResponse:
        answer = await self._send_once(request, progress)
        most = left = self._max_redirects
        while url := _redirect_url(request, answer):
            if not left:
                what = f"more than {most} redirects" if most else _NOT_FOLLOWED
                raise HttpFailure("httpFailed", what, answered=answer.status)
            left -= 1
            request = _follow_redirect(request, answer.status, url)
            answer = await self._send_once(request, progress)
        return answer

    async def _send_once(self, request: HttpRequest, progress: _Progress) -> HttpResponse:
        way = self._ways[request.is_from_row]
        async with self._ask(request, progress, way) as response:
            most = request.most_bytes or self._max_body_bytes
            body = await _read(response, most, request.keeps_bytes)
        found = read_headers(response)
        if request.keeps_bytes is None and found.get("content-encoding", "").lower() in _COMPRESSED:
            body = _decompress(body, most)
        return HttpResponse(response.status, found, body)

    def _ask(
        self, request: HttpRequest, progress: _Progress, way: _CheckedPool
    ) -> AbstractAsyncContextManager[httpcore.Response]:  # fmt: skip
        host, port = _host_and_port(request.url)
        # asked here, too: a connection may be open from a commit before
        if not way.backend.egress.knows(host, port):
            raise _ForbiddenHost(f"{host}:{port}")
        headers = {"accept-encoding": "gzip", "user-agent": "bbops", **request.headers}
        return way.pool.stream(
            request.method, _url(request.url), content=request.body or None,
            headers=[(name.encode("ascii"), value.encode("latin-1"))
                     for name, value in headers.items()],
            extensions={"trace": progress.trace},
        )  # fmt: skip


class StreamedResponse:
    """An answer whose body is read as it comes; what nobody reads waits at the other server."""

    def __init__(
        self, request: HttpRequest, response: httpcore.Response, ends_at: float, most_bytes: int,
        closing: AsyncExitStack,
    ) -> None:  # fmt: skip
        self.status, self.headers = response.status, read_headers(response)
        self._request, self._parts = request, aiter(response.aiter_stream())
        self._ends_at, self._left, self._most = ends_at, most_bytes, most_bytes
        self._closing, self._progress = closing, _Progress()
        self._progress.is_sent = True

    async def read(self) -> bytes:
        """Return what has come since, once something has; nothing at the end.

        Raises:
            HttpFailure: it breaks off, takes longer than the request says, or is too large.
        """
        with _translate_errors(self._request, self._progress):
            async with asyncio.timeout_at(self._ends_at):
                part = await anext(self._parts, b"")
        self._left -= len(part)
        if self._left < 0:
            raise _too_large(self._most)
        return part

    async def close(self) -> None:
        """End the request, also in the middle of its answer."""
        await self._closing.aclose()


@contextmanager
def _translate_errors(request: HttpRequest, progress: _Progress) -> Iterator[None]:
    """Raise what goes wrong with a request as what a function can catch."""
    parts = split(request.url)
    host = parts.hostname if parts else ""
    try:
        yield
    except (TimeoutError, httpcore.TimeoutException):
        message = f"'{host}' did not answer in time"
        raise HttpFailure("httpTimeout", message, is_sent=progress.is_sent) from None
    except (_PrivateAddress, _ForbiddenHost) as failure:
        raise _not_allowed(failure, is_from_row=request.is_from_row) from None
    except (httpcore.NetworkError, httpcore.RemoteProtocolError, OSError):
        message = f"'{host}' cannot be reached"
        raise HttpFailure("httpUnreachable", message, is_sent=progress.is_sent) from None
    except (httpcore.ProtocolError, httpcore.UnsupportedProtocol, UnicodeError, ValueError):
        raise HttpFailure("httpInvalid", "the request cannot be sent") from None


def read_headers(response: httpcore.Response) -> dict[str, str]:
    """Return the headers of an answer, names in lower case."""
    found: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _not_allowed(
    failure: _PrivateAddress | _ForbiddenHost, *, is_from_row: bool = False
) -> HttpFailure:
    if isinstance(failure, _PrivateAddress):
        setting = "egress.receivers" if is_from_row else "egress.allow"
        message = (
            f"address not allowed: '{failure}' is not public"
            f" (the server's '{setting}' in server.yaml can allow it)"
        )
    else:
        message = (
            f"address not allowed: this draft may not reach '{failure}', which the live release"
            " does not reach (a maintainer can allow it: 'bbops drafts allow')"
        )
    return HttpFailure("httpRefused", message)


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)


def _url(url: str) -> httpcore.URL:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        raise HttpFailure("httpInvalid", "expected an address such as https://api.example.com")
    name = parts.hostname
    host = name if name.isascii() else name.encode("idna").decode()
    target = quote(parts.path or "/", safe=_SAFE)
    target += "?" + quote(parts.query, safe=_SAFE) if parts.query else ""
    return httpcore.URL(
        scheme=parts.scheme.encode(), host=host.encode(), port=parts.port, target=target.encode()
    )


def _redirect_url(request: HttpRequest, answer: HttpResponse) -> str:
    """Return where an answer leads; empty where it is no redirect that is to be followed."""
    target = answer.headers.get("location")
    if answer.status not in _REDIRECTS or not target or request.follows == "none":
        return ""
    url = urljoin(request.url, target)
    if _origin(url) == _origin(request.url):
        return url
    keeps_body = request.body and not _becomes_get(request.method, answer.status)
    return url if request.follows == "all" and not keeps_body else ""


def _follow_redirect(request: HttpRequest, status: int, url: str) -> HttpRequest:
    """Return what a redirect asks for; another origin never gets what is for this one."""
    headers, method, body = dict(request.headers), request.method, request.body
    if _origin(url) != _origin(request.url):
        headers = {name: one for name, one in headers.items() if name in _NEUTRAL_HEADERS}
    if _becomes_get(method, status):
        method, body = ("HEAD" if method == "HEAD" else "GET"), b""
        headers.pop("content-type", None)
    return replace(request, method=method, url=url, headers=headers, body=body)


def _becomes_get(method: str, status: int) -> bool:
    return status == 303 or (status in {301, 302} and method == "POST")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


async def _read(response: httpcore.Response, most: int, keeps: int | None) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_stream():
        parts.append(part)
        size += len(part)
        if keeps is not None and size >= keeps:
            return b"".join(parts)[:keeps]
        if size > most:
            raise _too_large(most)
    return b"".join(parts)


def _decompress(body: bytes, most: int) -> bytes:
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip or zlib, as its head says
    try:
        found = unpack.decompress(body, most + 1)
    except zlib.error:
        raise HttpFailure("httpUnreachable", "the response cannot be decompressed") from None
    if len(found) > most:
        raise _too_large(most)
    return found


def _too_large(most: int) -> HttpFailure:
    return HttpFailure("httpTooLarge", f"the answer has more than {most:,} bytes")
