"""The fixed part of a client in Python: sessions, requests and failures."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Self
from urllib.parse import quote

import httpx

Upload = bytes | IO[bytes] | tuple[str, bytes | IO[bytes]] | tuple[str, bytes | IO[bytes], str]
"""A file to send: its bytes or an open file, with a name, with a name and a type."""


_STREAM_TIMEOUT = httpx.Timeout(30.0, read=60.0).as_dict()


class ApiError(Exception):
    """A call failed. `code` is for programs, and empty if the project's answer has none."""

    def __init__(self, operation: str, response: httpx.Response) -> None:
        self.operation, self.status = operation, response.status_code
        self.body = _body(response)
        self.request_id = response.headers.get("x-request-id")
        wait = response.headers.get("retry-after", "")
        self.retry_after_seconds = int(wait) if wait.isdigit() else None
        said = self.body.get("error") if isinstance(self.body, dict) else None
        error = said if isinstance(said, dict) else {}
        self.code = str(error.get("code", ""))
        self.fields: dict[str, list[str]] = error.get("fields") or {}
        message = error.get("message") or (said if isinstance(said, str) else "")
        super().__init__(message or f"{operation}: status {self.status}")


class InvalidRequest(ApiError):
    """400: `fields` says what is wrong with each value."""


class Unauthorized(ApiError):
    """401: the user is not signed in, or the session has ended."""


class Forbidden(ApiError):
    """403: the signed-in user may not do this."""


class NotFound(ApiError):
    """404: the resource does not exist."""


class Conflict(ApiError):
    """409: the request conflicts with existing data."""


class RateLimited(ApiError):
    """429: try again after `retry_after_seconds`."""


class ServerError(ApiError):
    """500 and above: `request_id` names it in the server's log."""


_ERRORS: dict[int, type[ApiError]] = {
    400: InvalidRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict,
    429: RateLimited,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a signed-in user; give them to another connection to continue there."""

    token: str
    refresh_token: str | None = None


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of the contract, with its arguments."""

    id: str
    method: str
    path: str
    params: Mapping[str, object] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, object] = field(default_factory=dict)
    body: Any = None
    form: bool = False
    token: bool = False
    key: bool = False
    raw: bool = False
    deep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Session:
    """The session calls of the contract."""

    starts: tuple[str, ...]
    refresh: _Call | None
    ends: str | None
    token_field: str
    refresh_field: str
    scheme: str
    cookie: bool
    csrf_header: str | None


class _State:
    """The signed-in user, and the conversion of requests and answers: no I/O."""

    def __init__(self, tokens: Tokens | None, api_key: str | None) -> None:
        self.tokens, self.api_key = tokens, api_key
        self.csrf: str | None = None

    def request(self, client: Any, call: _Call, tokens: Tokens | None) -> httpx.Request:
        headers = {name: str(value) for name, value in call.headers.items() if value is not None}
        if call.token and tokens is not None:
            headers["authorization"] = f"{_SESSION.scheme} {tokens.token}"
        if call.key and self.api_key is not None:
            headers["x-api-key"] = self.api_key
        if _SESSION.cookie and _SESSION.csrf_header and call.method != "GET":
            token = client.cookies.get("csrf") or self.csrf
            headers |= {_SESSION.csrf_header: token} if token else {}
        sent: dict[str, Any] = {}
        if call.form and call.body is not None:
            sent["files"] = _form(call.body)
        elif call.body is not None:
            sent["json"] = call.body
        query = [text for name, value in call.query.items() for text in _texts(call, name, value)]
        found: httpx.Request = client.build_request(
            call.method, _path(call), params=query or None, headers=headers, **sent
        )
        return found

    def refresh(self, used: Tokens | None) -> _Call | None:
        """Return the call that gets a new token; None if that is not possible."""
        if _SESSION.refresh is None:
            return None
        if used is not None and used.refresh_token:
            body = {_SESSION.refresh_field: used.refresh_token}
        elif _SESSION.cookie:
            body = {}
        else:
            return None
        one = _SESSION.refresh
        return _Call(one.id, one.method, one.path, body=body)

    def read(self, call: _Call, response: httpx.Response) -> Any:
        """Return the result of a call.

        Raises:
            ApiError: the call failed.
        """
        if not response.is_success:
            default = ServerError if response.status_code >= 500 else ApiError
            raise _ERRORS.get(response.status_code, default)(call.id, response)
        if _SESSION.csrf_header:
            self.csrf = response.headers.get(_SESSION.csrf_header, self.csrf)
        body = response.content if call.raw else _body(response)
        if call.id in _SESSION.starts and isinstance(body, dict):
            self.sign_in(body)
        if call.id == _SESSION.ends:
            self.tokens = self.csrf = None
        return body

    def sign_in(self, body: dict[str, Any]) -> None:
        token, refresh = body.get(_SESSION.token_field), body.get(_SESSION.refresh_field)
        if isinstance(token, str):
            kept = self.tokens.refresh_token if self.tokens else None
            self.tokens = Tokens(token, refresh if isinstance(refresh, str) else kept)

    def is_over(self, response: httpx.Response) -> bool:
        """Return whether a failed refresh means that the session has ended."""
        return response.status_code < 500 and response.status_code != 429


class Connection:
    """A connection to the project: the signed-in user, and the sending of calls. For threads."""

    def __init__(
        self, base_url: str = "", *, tokens: Tokens | None = None,
        api_key: str | None = None, timeout_seconds: float = 30.0,
        http: httpx.Client | None = None,
    ) -> None:  # fmt: skip
        """Connect to `https://api.example.com`; `http` replaces the connection's own client."""
        self._http = http or httpx.Client(base_url=_address(base_url), timeout=timeout_seconds)
        self._state, self._lock = _State(tokens, api_key), threading.Lock()

    @property
    def tokens(self) -> Tokens | None:
        """The tokens of the signed-in user; None by cookie, and without a user."""
        return self._state.tokens

    @tokens.setter
    def tokens(self, tokens: Tokens | None) -> None:
        self._state.tokens = tokens

    def sign_in(self, token: str, refresh_token: str | None = None) -> None:
        """Continue with a token from another source than the session's own calls."""
        self._state.tokens = Tokens(token, refresh_token)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, call: _Call) -> Any:
        """Send a call; the functions of `Client` do."""
        used = self._state.tokens
        response = self._send(call, used)
        if response.status_code == 401 and call.token and self._refresh(used):
            response = self._send(call, self._state.tokens)
        return self._state.read(call, response)

    @contextmanager
    def open(self, call: _Call) -> Iterator[httpx.Response]:
        """Send a call with a streamed answer; the functions of `Topics` do."""
        used = self._state.tokens
        response = self._send(call, used, stream=True)
        if response.status_code == 401 and call.token and self._refresh(used):
            response.close()
            response = self._send(call, self._state.tokens, stream=True)
        try:
            if not response.is_success:
                response.read()
                self._state.read(call, response)
            yield response
        finally:
            response.close()

    def _send(self, call: _Call, tokens: Tokens | None, *, stream: bool = False) -> httpx.Response:
        request = self._state.request(self._http, call, tokens)
        if stream:
            request.extensions["timeout"] = _STREAM_TIMEOUT
            if "accept" not in call.headers:
                request.headers["accept"] = "text/event-stream, application/json"
        return self._http.send(request, stream=stream)

    def _refresh(self, used: Tokens | None) -> bool:
        with self._lock:
            if self._state.tokens != used:
                return self._state.tokens is not None
            call = self._state.refresh(used)
            if call is None:
                return False
            response = self._send(call, None)
            if response.is_success:
                self._state.read(call, response)
            elif self._state.is_over(response):
                self._state.tokens = None
            return response.is_success


class AsyncConnection:
    """A connection to the project for one event loop."""

    def __init__(
        self, base_url: str = "", *, tokens: Tokens | None = None,
        api_key: str | None = None, timeout_seconds: float = 30.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:  # fmt: skip
        """Connect to `https://api.example.com`; `http` replaces the connection's own client."""
        self._http = http or httpx.AsyncClient(base_url=_address(base_url), timeout=timeout_seconds)
        self._state, self._lock = _State(tokens, api_key), asyncio.Lock()

    @property
    def tokens(self) -> Tokens | None:
        """The tokens of the signed-in user; None by cookie, and without a user."""
        return self._state.tokens

    @tokens.setter
    def tokens(self, tokens: Tokens | None) -> None:
        self._state.tokens = tokens

    def sign_in(self, token: str, refresh_token: str | None = None) -> None:
        """Continue with a token from another source than the session's own calls."""
        self._state.tokens = Tokens(token, refresh_token)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def call(self, call: _Call) -> Any:
        """Send a call; the functions of `AsyncClient` do."""
        used = self._state.tokens
        response = await self._send(call, used)
        if response.status_code == 401 and call.token and await self._refresh(used):
            response = await self._send(call, self._state.tokens)
        return self._state.read(call, response)

    @asynccontextmanager
    async def open(self, call: _Call) -> AsyncIterator[httpx.Response]:
        """Send a call with a streamed answer; the functions of `AsyncTopics` do."""
        used = self._state.tokens
        response = await self._send(call, used, stream=True)
        if response.status_code == 401 and call.token and await self._refresh(used):
            await response.aclose()
            response = await self._send(call, self._state.tokens, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                self._state.read(call, response)
            yield response
        finally:
            await response.aclose()

    async def _send(
        self, call: _Call, tokens: Tokens | None, *, stream: bool = False
    ) -> httpx.Response:
        request = self._state.request(self._http, call, tokens)
        if stream:
            request.extensions["timeout"] = _STREAM_TIMEOUT
            if "accept" not in call.headers:
                request.headers["accept"] = "text/event-stream, application/json"
        return await self._http.send(request, stream=stream)

    async def _refresh(self, used: Tokens | None) -> bool:
        async with self._lock:
            if self._state.tokens != used:
                return self._state.tokens is not None
            call = self._state.refresh(used)
            if call is None:
                return False
            response = await self._send(call, None)
            if response.is_success:
                self._state.read(call, response)
            elif self._state.is_over(response):
                self._state.tokens = None
            return response.is_success


def _address(base_url: str) -> str:
    if not base_url:
        raise ValueError("say where the project answers: base_url")
    return base_url.rstrip("/")


def _path(call: _Call) -> str:
    path = call.path
    for name, value in call.params.items():
        text = str(value)
        if text in {"", ".", ".."}:
            raise ValueError(f"'{name}' of {call.path} cannot be '{text}'")
        path = path.replace(f"{{{name}}}", quote(text, safe=""))
    return path


def _texts(call: _Call, name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each value of a parameter; its fields are names in brackets."""
    is_deep = name in call.deep and isinstance(value, Mapping)
    given = (
        {f"{name}[{field}]": item for field, item in value.items()} if is_deep else {name: value}
    )
    for sent, each in given.items():
        every = each if isinstance(each, list | tuple) else [each]
        yield from ((sent, _text(item)) for item in every if item is not None)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _form(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the parts of a form; a text is a part without a file name."""
    parts: list[tuple[str, Any]] = []
    for name, value in body.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, bytes):
                parts.append((name, (name, item)))
            elif isinstance(item, tuple) or hasattr(item, "read"):
                parts.append((name, item))
            elif item is not None:
                parts.append((name, (None, _text(item))))
    return parts


def _body(response: httpx.Response) -> Any:
    if not response.content:
        return None
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "application/json" or kind.endswith("+json"):
        return response.json()
    return response.text if kind.startswith("text/") else response.content


# ---- the rest is specific to one project, written from its contract
_SESSION = _Session((), None, None, "token", "refreshToken", "Bearer", False, None)  # noqa: FBT003
