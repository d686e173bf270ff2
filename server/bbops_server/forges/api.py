"""Requests to the JSON API of a forge, with its limits, ETags, pages and errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec

from bbops.base.host import Clock, HttpRequest, HttpResponse
from bbops.runtime.values.failures import HttpFailure
from bbops_server.forges.api_limits import RequestLimits, ResponseCache, make_error, name_path
from bbops_server.forges.hosted import ForgeAway, ForgeError, ForgeGone
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.system import SystemClock

MAX_PAGES: Final = 20
PER_PAGE: Final = 100
MAX_TRIES: Final = 3
"""Attempts of a GET; a write has one."""
MAX_REDIRECTS: Final = 3
RESPONSE_SECONDS: Final = 20.0
MAX_BODY_BYTES: Final = 16 << 20
MAX_PARALLEL: Final = 4
"""The most requests to a forge at the same time: more cause its secondary limits."""

_NEXT: Final = re.compile(r'<([^>]+)>\s*;[^,]*\brel="?next\b').search
_PASSING: Final = frozenset({"httpTimeout", "httpUnreachable"})
_PERMANENT: Final = frozenset({301, 308})
_SAFE: Final = frozenset({"GET", "HEAD"})

T = TypeVar("T")


class ApiCredential(Protocol):
    """The credential of requests."""

    async def headers(self) -> Mapping[str, str]:
        """Return the headers with the credential. Raises: ForgeError: there is none."""
        ...

    def renew(self) -> bool:
        """Drop a token that the forge rejected; return whether there can be another one."""
        ...


class ForgeApi:
    """The API of a forge.

    Attributes:
        requests: the number of requests that were sent.
        limits: the forge's limits.
        moved: the path that has replaced `root` since the repository was renamed, else empty.
    """

    def __init__(
        self, base: str, credential: ApiCredential, egress: EgressPolicy, *,
        headers: Mapping[str, str] | None = None, root: str = "", clock: Clock | None = None,
        moves_writes: bool = False,
    ) -> None:  # fmt: skip
        """Create a client.

        Args:
            base: the address of the API, without a final slash.
            credential: sent to this origin alone.
            egress: the rules for connections.
            headers: of every request.
            root: the path of the repository, such as `/repos/acme/shop`.
            clock: for pauses.
            moves_writes: whether the forge answers a write to a renamed repository with 301, after
                which the same write is sent to its new path.
        """
        self._base, self._root, self._credential = base, root, credential
        self._headers, self._moves_writes = dict(headers or {}), moves_writes
        self._http = OutsideHttp(egress, max_body_bytes=MAX_BODY_BYTES, max_redirects=0)
        self._cache, self._slots = ResponseCache(), asyncio.Semaphore(MAX_PARALLEL)
        self.forge = urlsplit(base).netloc
        self.limits = RequestLimits(self.forge, clock or SystemClock())
        self.requests, self.moved = 0, ""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def get(self, path: str, form: type[T], *, right: str = "", **query: str | int) -> T:
        """Return the value of a path. Sends a conditional request if the value is known.

        Args:
            path: below the API's address.
            form: the type of the value; unknown keys are ignored.
            right: the right that it needs, for errors.
            query: the parameters.

        Raises:
            ForgeError: the forge rejects the request.
        """
        return decode(await self.read(path, right=right, **query), form)

    async def read(self, path: str, *, right: str = "", **query: str | int) -> HttpResponse:
        """Return the response of a GET. Parameters and errors as `get`."""
        return await self._fetch(self._url(path, query), right)

    async def pages(
        self, path: str, form: type[T], *, right: str = "", may_cut: bool = False,
        **query: str | int,
    ) -> AsyncIterator[T]:  # fmt: skip
        """Yield the pages of a list, at most `MAX_PAGES`. Parameters and errors as `get`.

        Args:
            may_cut: whether the pages may end early; otherwise a longer list is a ForgeError.
        """
        url = self._url(path, {**query, "per_page": PER_PAGE})
        for _ in range(MAX_PAGES):
            response = await self._fetch(url, right)
            yield decode(response, form)
            if not (url := self._next_url(url, response)):
                return
        if not may_cut:
            raise ForgeError(f"{self.forge} lists more than {MAX_PAGES} pages at {path}")

    async def send(
        self, method: str, path: str, body: Any = None, *, right: str = ""
    ) -> HttpResponse:  # fmt: skip
        """Send a write once; return the response. Errors as `get`.

        Raises:
            ForgeAway: also if the response is missing; `is_sent` if the forge may have done it.
        """
        return await self._write(method, self._url(path, {}), body, right)

    async def send_to(self, url: str, body: Any, form: type[T], *, right: str = "") -> T:
        """Send a POST to another address of the forge, such as its GraphQL API.

        Errors as `send`, also if the address is on another server.
        """
        if _origin(url) != _origin(self._base):
            raise ForgeError(f"'{url}' is on another server than {self.forge}")
        return decode(await self._write("POST", url, body, right), form)

    async def _write(self, method: str, url: str, body: Any, right: str) -> HttpResponse:
        headers = {"content-type": "application/json"} if body is not None else {}
        data = msgspec.json.encode(body) if body is not None else b""
        request = HttpRequest(method, url, headers, data, RESPONSE_SECONDS, follows="none")
        sent, response = await self._exchange(request)
        if response.status >= 500:
            raise self._away(sent, f"answered with {response.status}", is_sent=True)
        self._require_success(sent, response, right)
        return response

    async def _fetch(self, url: str, right: str) -> HttpResponse:
        known = self._cache.find(url)
        condition = {"if-none-match": known.headers["etag"]} if known else {}
        request = HttpRequest("GET", url, condition, b"", RESPONSE_SECONDS, follows="none")
        sent, response = await self._try(request)
        if response.status == 304 and known:
            return known
        if response.status == 404:
            self._cache.drop(url)
        self._require_success(sent, response, right)
        self._cache.keep(url, response)
        return response

    async def _try(self, request: HttpRequest) -> tuple[HttpRequest, HttpResponse]:
        """Send a GET, again after a failure that may pass."""
        for left in reversed(range(MAX_TRIES)):
            try:
                sent, response = await self._exchange(request)
            except ForgeAway as failure:
                if failure.wait_seconds or not left:
                    raise
                continue
            if response.status < 500:
                return sent, response
            if not left:
                raise self._away(sent, f"answered with {response.status}")
        raise AssertionError

    async def _exchange(self, request: HttpRequest) -> tuple[HttpRequest, HttpResponse]:
        """Send a request, follow its redirects, and renew a rejected token once.

        A forge rejects a token before it does anything, so a write may be sent again.
        """
        sent, response = await self._follow(request)
        if response.status == 401 and self._credential.renew():
            sent, response = await self._follow(request)
        return sent, response

    async def _follow(self, request: HttpRequest) -> tuple[HttpRequest, HttpResponse]:
        headers = {**self._headers, **request.headers, **await self._credential.headers()}
        sent = replace(request, headers=headers)
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._send(sent)
            if not (target := self._redirect(sent, response)):
                return sent, response
            sent = replace(sent, url=target)
        raise ForgeError(f"{self.forge} redirects {name_path(request.url)} in a circle")

    async def _send(self, request: HttpRequest) -> HttpResponse:
        async with self._slots:
            self.limits.require_open()
            self.requests += 1
            try:
                response = await self._http.send(request)
            except HttpFailure as failure:
                raise self._translate(request, failure) from None
        self.limits.read(response)
        return response

    def _translate(self, request: HttpRequest, failure: HttpFailure) -> ForgeError:
        if failure.code not in _PASSING:
            return ForgeError(f"cannot use {self.forge}: {failure}")
        is_write = request.method not in _SAFE
        return self._away(request, str(failure), is_sent=is_write and failure.is_sent)

    def _away(self, request: HttpRequest, reason: str, *, is_sent: bool = False) -> ForgeAway:
        message = f"{request.method} {name_path(request.url)} failed: {reason}"
        return ForgeAway(f"{self.forge} is not available: {message}", is_sent=is_sent)

    def _redirect(self, request: HttpRequest, response: HttpResponse) -> str:
        """Return the target of a redirect to follow, else empty; remember a moved repository."""
        if response.status not in {301, 302, 307, 308}:
            return ""
        target = _join(request.url, response.headers.get("location", ""))
        if _origin(target) != _origin(self._base):
            raise ForgeError(f"{self.forge} redirects to another server, expected its own address")
        is_known = response.status in _PERMANENT and self._learn(request.url, target)
        keeps_method = response.status >= 307 or (is_known and self._moves_writes)
        if request.method not in _SAFE and not keeps_method:
            raise ForgeGone(f"{name_path(request.url)} has moved", hint="update its address")
        return target

    def _learn(self, url: str, target: str) -> bool:
        """Remember the path that replaces the repository's; return whether the rest is the same."""
        path = target.partition("?")[0]
        for root in filter(None, (self.moved, self._root)):
            start, rest = self._base + root, url.partition("?")[0].removeprefix(self._base + root)
            if url.startswith(start) and rest[:1] in {"", "/"} and path.endswith(rest):
                moved = path.removesuffix(rest).removeprefix(self._base)
                self.moved = moved if moved != self._root else ""
                return True
        return False

    def _url(self, path: str, query: Mapping[str, str | int]) -> str:
        root = self._root
        if self.moved and (path == root or path.startswith(f"{root}/")):
            path = self.moved + path.removeprefix(root)
        return f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")

    def _next_url(self, url: str, response: HttpResponse) -> str:
        """Return the URL of the next page; empty if there is none, or it is elsewhere."""
        found = _NEXT(response.headers.get("link", ""))
        target = _join(url, found[1]) if found else ""
        return target if _origin(target) == _origin(self._base) else ""

    def _require_success(self, request: HttpRequest, response: HttpResponse, right: str) -> None:
        if 200 <= response.status < 300:
            return
        if response.status == 404 and self.moved:
            self.moved = ""  # the old path may name a repository again
        raise make_error(request, response, right)


def decode(response: HttpResponse, form: type[T]) -> T:
    """Return the value of a response. Raises: ForgeError: it has another form."""
    try:
        return msgspec.json.decode(response.body, type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ForgeError(f"a response of the forge has an unknown form: {error}") from None


def _join(base: str, url: str) -> str:
    """Return a URL from its base; empty if it is not valid."""
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    try:
        return parts.scheme, parts.hostname, parts.port
    except ValueError:
        return "", None, None
