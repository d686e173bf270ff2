"""HTTP and SMTP to other servers: public addresses, and those that the settings allow."""

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
from bbops.base.header_values import encode_value
from bbops.base.host import HttpRequest, HttpResponse, MailRequest
from bbops.runtime.values.failures import HttpFailure, Unavailable
from bbops.runtime.vendors._deliver import deliver
from bbops_server.process.host.egress import EgressPolicy

MAX_BODY_BYTES: Final = 10_000_000
MAX_REDIRECTS: Final = 5
MAX_OPEN: Final = 200
"""The most streamed responses of a process; see `OutsideHttp.open`."""
_MAX_ADDRESSES: Final = 4
_COMPRESSED: Final = frozenset({"gzip", "x-gzip", "deflate"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NEUTRAL_HEADERS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""Headers that may follow a redirect to another origin. Others may contain credentials."""
_NOT_FOLLOWED: Final = "it redirects, and redirects are not followed here"
_SAFE: Final = "/%:@!$&'()*+,;=~-._?"


class _PrivateAddress(Exception):
    """None of the host's addresses is allowed."""


class _ForbiddenHost(Exception):
    """The draft may not connect to the host."""


class _Progress:
    """Whether a request was sent: the other server may process it after its first byte."""

    __slots__ = ("is_sent",)

    def __init__(self) -> None:
        self.is_sent = False

    async def trace(self, event: str, _: Mapping[str, Any]) -> None:
        """Handle a trace event of httpcore."""
        if event.endswith("send_request_headers.started"):
            self.is_sent = True


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name once, and connects to the address that it has checked."""

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
        """Return the allowed addresses of a host."""
        loop = asyncio.get_running_loop()
        try:
            results = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise httpcore.ConnectError(f"'{host}' has no address") from None
        addresses = dict.fromkeys(str(result[4][0]) for result in results)
        allowed = [address for address in addresses if self.egress.allows(host, address)]
        return allowed[:_MAX_ADDRESSES]

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise _PrivateAddress("a socket")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _CheckedPool:
    """A connection pool with its own rules: connections are not shared with other pools."""

    __slots__ = ("backend", "connections")

    def __init__(self, egress: EgressPolicy, *, limit: int = 100) -> None:
        self.backend = _CheckedBackend(egress)
        self.connections = httpcore.AsyncConnectionPool(
            max_connections=limit, max_keepalive_connections=20, keepalive_expiry=30.0,
            network_backend=self.backend,
        )  # fmt: skip


class OutsideHttp:
    """Implements `bbops.base.host.Http`. Each address is checked when connecting to it."""

    def __init__(
        self, egress: EgressPolicy | None = None, *, max_body_bytes: int = MAX_BODY_BYTES,
        max_redirects: int = MAX_REDIRECTS, max_open: int = MAX_OPEN,
    ) -> None:  # fmt: skip
        """Create a client.

        Args:
            egress: the rules for connections; public addresses by default.
            max_body_bytes: the size of a response's body, unless the request sets it.
            max_redirects: the number of followed redirects.
            max_open: the number of streamed responses, see `open`.
        """
        self._max_body_bytes, self._max_redirects = max_body_bytes, max_redirects
        self._pools = {
            False: _CheckedPool(egress or EgressPolicy()),
            True: _CheckedPool(EgressPolicy()),
        }
        self._streams = _CheckedPool(egress or EgressPolicy(), limit=max_open)
        self._open, self._max_open = 0, max_open

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request and return the response. Redirects are checked like the first request.

        Raises:
            HttpFailure: `httpTimeout`, `httpUnreachable`, `httpRefused`, `httpTooLarge` or
                `httpInvalid`.
        """
        progress = _Progress()
        with _translate_errors(request, progress):
            async with asyncio.timeout(request.timeout_seconds):
                return await self._follow(request, progress)

    async def open(self, request: HttpRequest) -> StreamedResponse:
        """Send a request and return the response after its headers. Redirects are not followed.

        Streamed responses have their own connections, so that other requests do not wait for them.

        Raises:
            HttpFailure: as `send`.
            Unavailable: too many streamed responses are open.
        """
        if self._open >= self._max_open:
            raise Unavailable(
                "tooManyStreams", "too many answers of other servers are read at the same time",
                hint=f"a process reads {self._max_open} at the same time", retry_seconds=1,
            )  # fmt: skip
        self._open += 1
        progress, closing = _Progress(), AsyncExitStack()
        closing.callback(self._count_closed)
        try:
            with _translate_errors(request, progress):
                ends_at = asyncio.get_running_loop().time() + request.timeout_seconds
                async with asyncio.timeout_at(ends_at):
                    stream = self._stream(request, progress, self._streams)
                    response = await closing.enter_async_context(stream)
                max_bytes = request.most_bytes or self._max_body_bytes
                return StreamedResponse(request, response, ends_at, max_bytes, closing)
        except BaseException:
            await closing.aclose()
            raise

    def _count_closed(self) -> None:
        self._open -= 1

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Send mails over SMTP; return the rejected recipients.

        Raises:
            HttpFailure: the server rejected all mails, or its address is not allowed.
        """
        backend = self._pools[False].backend
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
        """Replace the rules. Open connections stay open for half a minute.

        Args:
            egress: the rules for URLs in a project's files.
            rows: the rules for URLs in rows; public addresses by default.
        """
        self._pools[False].backend.egress = self._streams.backend.egress = egress
        self._pools[True].backend.egress = rows or EgressPolicy(only=egress.only)

    async def close(self) -> None:
        """Close the connections."""
        for pool in (*self._pools.values(), self._streams):
            await pool.connections.aclose()

    async def _follow(self, request: HttpRequest, progress: _Progress) -> HttpResponse:
        response = await self._send_once(request, progress)
        limit = left = self._max_redirects
        while url := _redirect_url(request, response):
            if not left:
                message = f"more than {limit} redirects" if limit else _NOT_FOLLOWED
                raise HttpFailure("httpFailed", message, answered=response.status)
            left -= 1
            request = _follow_redirect(request, response.status, url)
            response = await self._send_once(request, progress)
        return response

    async def _send_once(self, request: HttpRequest, progress: _Progress) -> HttpResponse:
        pool = self._pools[request.is_from_row]
        async with self._stream(request, progress, pool) as response:
            max_bytes = request.most_bytes or self._max_body_bytes
            body = await _read(response, max_bytes, request.keeps_bytes)
        headers = read_headers(response)
        encoding = headers.get("content-encoding", "").lower()
        if request.keeps_bytes is None and encoding in _COMPRESSED:
            body = _decompress(body, max_bytes)
        return HttpResponse(response.status, headers, body)

    def _stream(
        self, request: HttpRequest, progress: _Progress, pool: _CheckedPool
    ) -> AbstractAsyncContextManager[httpcore.Response]:  # fmt: skip
        host, port = _host_and_port(request.url)
        # checked here, too: a connection may be open from an earlier release
        if not pool.backend.egress.knows(host, port):
            raise _ForbiddenHost(f"{host}:{port}")
        headers = {"accept-encoding": "gzip", "user-agent": "bbops", **request.headers}
        return pool.connections.stream(
            request.method, _url(request.url), content=request.body or None,
            headers=[(name.encode("ascii"), encode_value(value))
                     for name, value in headers.items()],
            extensions={"trace": progress.trace},
        )  # fmt: skip


class StreamedResponse:
    """A response whose body is read in parts. Unread parts wait at the other server."""

    def __init__(
        self, request: HttpRequest, response: httpcore.Response, ends_at: float, max_bytes: int,
        closing: AsyncExitStack,
    ) -> None:  # fmt: skip
        self.status, self.headers = response.status, read_headers(response)
        self._request, self._parts = request, aiter(response.aiter_stream())
        self._ends_at, self._left, self._max_bytes = ends_at, max_bytes, max_bytes
        self._closing, self._progress = closing, _Progress()
        self._progress.is_sent = True

    async def read(self) -> bytes:
        """Return the next part of the body; empty at the end.

        Raises:
            HttpFailure: the response breaks off, times out, or is too large.
        """
        with _translate_errors(self._request, self._progress):
            async with asyncio.timeout_at(self._ends_at):
                part = await anext(self._parts, b"")
        self._left -= len(part)
        if self._left < 0:
            raise _too_large(self._max_bytes)
        return part

    async def close(self) -> None:
        """Close the request, even before the end of the response."""
        await self._closing.aclose()


@contextmanager
def _translate_errors(request: HttpRequest, progress: _Progress) -> Iterator[None]:
    """Translate errors of a request into failures that a function can catch."""
    parts = split(request.url)
    host = parts.hostname if parts else ""
    try:
        yield
    except (TimeoutError, httpcore.TimeoutException):
        message = f"'{host}' did not answer in time"
        raise HttpFailure("httpTimeout", message, is_sent=progress.is_sent) from None
    except (_PrivateAddress, _ForbiddenHost) as failure:
        raise _not_allowed(failure, is_from_row=request.is_from_row) from None
    except httpcore.RemoteProtocolError:
        message = f"'{host}' gave no valid HTTP response"
        raise HttpFailure("httpUnreachable", message, is_sent=progress.is_sent) from None
    except (httpcore.NetworkError, OSError):
        message = f"'{host}' cannot be reached"
        raise HttpFailure("httpUnreachable", message, is_sent=progress.is_sent) from None
    except (httpcore.ProtocolError, httpcore.UnsupportedProtocol, UnicodeError, ValueError):
        raise HttpFailure("httpInvalid", "the request cannot be sent") from None


def read_headers(response: httpcore.Response) -> dict[str, str]:
    """Return the headers of a response, with names in lower case."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


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


def _redirect_url(request: HttpRequest, response: HttpResponse) -> str:
    """Return the URL of a redirect; empty if the response is not a redirect to follow."""
    target = response.headers.get("location")
    if response.status not in _REDIRECTS or not target or request.follows == "none":
        return ""
    url = urljoin(request.url, target)
    if _origin(url) == _origin(request.url):
        return url
    keeps_body = request.body and not _becomes_get(request.method, response.status)
    return url if request.follows == "all" and not keeps_body else ""


def _follow_redirect(request: HttpRequest, status: int, url: str) -> HttpRequest:
    """Return the request of a redirect. Another origin gets neither credentials nor cookies."""
    headers, method, body = dict(request.headers), request.method, request.body
    if _origin(url) != _origin(request.url):
        headers = {name: value for name, value in headers.items() if name in _NEUTRAL_HEADERS}
    if _becomes_get(method, status):
        method, body = ("HEAD" if method == "HEAD" else "GET"), b""
        headers.pop("content-type", None)
    return replace(request, method=method, url=url, headers=headers, body=body)


def _becomes_get(method: str, status: int) -> bool:
    return status == 303 or (status in {301, 302} and method == "POST")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


async def _read(response: httpcore.Response, max_bytes: int, keeps: int | None) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_stream():
        parts.append(part)
        size += len(part)
        if keeps is not None and size >= keeps:
            return b"".join(parts)[:keeps]
        if size > max_bytes:
            raise _too_large(max_bytes)
    return b"".join(parts)


def _decompress(body: bytes, max_bytes: int) -> bytes:
    decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip or zlib, by its header
    try:
        data = decompressor.decompress(body, max_bytes + 1)
    except zlib.error:
        raise HttpFailure("httpUnreachable", "the response cannot be decompressed") from None
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


def _too_large(max_bytes: int) -> HttpFailure:
    return HttpFailure("httpTooLarge", f"the answer has more than {max_bytes:,} bytes")
