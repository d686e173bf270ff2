"""From an ASGI request to a function and back, specialised per endpoint.

What an endpoint does not use, it does not pay for: query, headers and body are decoded only when
its function, or its middleware, needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from traceback import walk_tb
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from bbops.runtime.failures import NOTHING, DatabaseFailure, Failure, InvalidInput, Thrown
from bbops.runtime.flow import Answer, Function, Run, code_of, message_of
from bbops.runtime.operators import text
from bbops.runtime.table import RouteTable
from bbops.runtime.tokens import Tokens
from bbops.runtime.values import FUEL, check_size

MAX_BODY_BYTES = 1 << 20
MAX_QUERY_FIELDS = 1_000
MAX_ANSWER = 20_000_000
"""Characters and members of an answer's value, all the way down."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch
_OURS = frozenset({
    "connection", "content-length", "content-type", "transfer-encoding", "x-release",
    "x-request-id",
})  # fmt: skip
_JSON = (b"content-type", b"application/json")

Headers = list[tuple[bytes, bytes]]


class TooLarge(Thrown):
    """The body is longer than it may be."""

    def __init__(self) -> None:
        super().__init__(413, f"the body is larger than {MAX_BODY_BYTES:,} bytes")


class Gone(Exception):
    """The client left before its body was whole: nobody waits for an answer."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What stands between a route and its function."""

    method: str
    authentication: str
    middleware: tuple[Function, ...]


class Answering:
    """How a release answers: its name on every answer, its errors, its environment."""

    def __init__(
        self, name: str, host: Any, env: Mapping[str, Any], tokens: Tokens | None, *,
        fuel: int, detailed: bool,
    ) -> None:  # fmt: skip
        self.host, self.env, self.tokens, self.fuel = host, env, tokens, fuel
        self.detailed = detailed
        self.release = (b"x-release", name.encode())
        self.prefix, self.counter = host.random.token(8), count(1)

    def run(self) -> Run:
        """Return a Run with this release's doors, whose fuel pays for large values."""
        run = Run(self.host, self.env, self.tokens, self.fuel)
        FUEL.set(run.fuel)
        return run

    async def dispatch(self, table: RouteTable[Any], scope: Any, receive: Any, send: Any) -> None:
        """Answer by the pipeline of the route, or with 404, 405 or OPTIONS."""
        method = scope["method"]
        raw = scope.get("raw_path")
        path = raw.decode("latin-1") if raw else scope["path"]
        target, found = table.match("GET" if method == "HEAD" else method, path)
        if target is not None:
            await target(scope, receive, send, found)
        elif not found:
            await self.fail(send, Thrown(404, "no such route"), scope)
        elif method == "OPTIONS":
            allow = (b"allow", ", ".join(found).encode())
            await self.send(send, scope, 204, b"", [allow])
        else:
            allowed = ", ".join(found)
            error = Thrown(405, f"this route answers {allowed}", headers={"allow": allowed})
            await self.fail(send, error, scope)

    async def send(self, send: Any, scope: Any, status: int, body: bytes, headers: Headers) -> None:
        """Send one whole answer; HEAD, 204 and 304 have no body."""
        if status not in {204, 304}:
            headers.append((b"content-length", b"%d" % len(body)))
        headers.append(self.release)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        bodyless = scope["method"] == "HEAD" or status in {204, 304}
        await send({"type": "http.response.body", "body": b"" if bodyless else body})

    async def answer(self, send: Any, scope: Any, answer: Answer) -> None:
        """Send what a function returned."""
        status, value, headers, content_type = answer
        if type(status) is not int or not 200 <= status <= 599:
            raise Failure("the status of an answer is a whole number from 200 to 599")
        sent = _headers(headers)
        if value is NOTHING:
            await self.send(send, scope, status, b"", sent)
            return
        if content_type is None:
            body = encode(value)
            sent.append(_JSON)
        else:
            body = value if type(value) is bytes else text(value).encode()
            sent.append((b"content-type", content_type.encode("latin-1", "replace")))
        await self.send(send, scope, status, body, sent)

    async def fail(self, send: Any, error: BaseException, scope: Any) -> None:
        """Send the answer of a failure; one that nobody meant is logged with its file and line."""
        try:
            status, body, headers = self.failure(error, scope)
        except Failure as problem:  # the error's own value or headers cannot be sent
            status, body, headers = self.failure(problem.with_traceback(error.__traceback__), scope)
        await self.send(send, scope, status, body, headers)

    def failure(self, error: BaseException, scope: Any) -> tuple[int, bytes, Headers]:
        """Return status, body and headers of a failure's answer."""
        if isinstance(error, Thrown) and error.value is not NOTHING:
            check_size(error.value, MAX_ANSWER)
            return error.status, encode(error.value), [*_headers(error.headers), _JSON]
        body, headers = self.explain(error, scope)
        status = error.status if isinstance(error, Failure) else 500
        if isinstance(error, TooLarge):  # the rest of the body is not read
            headers.append((b"connection", b"close"))
        return status, encode({"error": body}), [*headers, _JSON]

    def explain(self, error: BaseException, scope: Any) -> tuple[dict[str, Any], Headers]:
        """Return the automatic body of an error, and its headers."""
        if isinstance(error, Thrown):
            code = error.code or code_of(error.status)
            headers = _headers(error.headers)
            if error.status == 401:
                headers.append((b"www-authenticate", b"Bearer"))
            return {"code": code, "message": error.message or message_of(error.status)}, headers
        if isinstance(error, InvalidInput):
            return {"code": error.code, "message": error.message, "fields": error.fields}, []
        if isinstance(error, DatabaseFailure):
            code = "conflict" if error.status == 409 else "invalidInput"
            fields = {column: [error.message] for column in error.columns}
            return {"code": code, "message": error.message, "fields": fields}, []
        return self.surprise(error, scope)

    def surprise(self, error: BaseException, scope: Any) -> tuple[dict[str, Any], Headers]:
        """Log a failure nobody meant; its answer says only the request's id."""
        request_id = f"{self.prefix}{next(self.counter):x}"
        where, detail = blame(error)
        route = f"{scope['method']} {scope['path']}"
        self.host.log.write("error", detail, {"step": where, "route": route, "request": request_id})
        body = {"code": "serverError", "message": "internal server error", "requestId": request_id}
        if self.detailed:
            body |= {"detail": detail, "at": where}
        return body, [(b"x-request-id", request_id.encode())]


def blame(error: BaseException) -> tuple[str, str]:
    """Return (file:line of the step that failed, what happened) without any value."""
    where = ""
    for frame, line in walk_tb(error.__traceback__):
        if frame.f_code.co_filename.endswith(".yaml"):
            where = f"{frame.f_code.co_filename}:{line}"
    if isinstance(error, Failure):
        return where, error.message
    return where, f"unexpected {type(error).__name__}"


def encode(value: Any) -> bytes:
    """Return a value as JSON; one that may unfold to more than it is has been measured."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise Failure("the answer cannot be written as JSON") from error


def can_set(header: str) -> bool:
    """Return whether a function may set a header: it is a name, and not one of the server's."""
    return _HEADER(header) is not None and header.lower() not in _OURS


def _headers(headers: Any) -> Headers:
    out: Headers = []
    if not headers:
        return out
    if not isinstance(headers, dict):
        raise Failure("'headers' needs a map of texts")
    for name, value in headers.items():
        lower = name.lower()
        whole = text(value)
        if not can_set(name) or any(ord(c) < 32 or ord(c) == 127 for c in whole):
            raise Failure(f"header '{name[:60]}' cannot be set")
        out.append((lower.encode(), whole.encode("latin-1", "replace")))
    return out


class Pipeline:
    """One endpoint's way from request to answer; made once per release."""

    __slots__ = (
        "answering", "authentication", "from_params", "from_query", "function", "middleware",
        "needs_body", "needs_headers", "needs_query", "needs_request", "shape", "unfolds",
    )  # fmt: skip

    def __init__(self, function: Function, policy: Policy, answering: Answering) -> None:
        self.function, self.answering = function, answering
        self.authentication, self.middleware = policy.authentication, policy.middleware
        needs = frozenset().union(function.needs, *(one.needs for one in policy.middleware))
        has_body = policy.method in {"POST", "PUT", "PATCH"}
        self.shape = function.input if has_body else None
        self.unfolds = any(one.unfolds for one in (function, *policy.middleware))
        self.needs_query = "query" in needs or function.query is not None
        self.needs_headers = "headers" in needs
        self.needs_request = "request" in needs
        self.needs_body = has_body and (self.shape is not None or self.needs_request)
        self.from_query, self.from_params = function.from_query, function.from_params

    async def __call__(self, scope: Any, receive: Any, send: Any, params: dict[str, str]) -> None:
        """Answer one request."""
        answering = self.answering
        try:
            run = answering.run()
            run.params = params
            if self.authentication != "None":
                run.auth = self.authenticate(scope)
            texts, body = await self.read(run, scope, receive)
            for function in self.middleware:
                answer = await function.flow(run)
                if answer[1] is not NOTHING:
                    break
            else:
                self.apply_shapes(run, texts, body)
                answer = await self.function.flow(run)
            if self.unfolds:
                check_size(answer[1], MAX_ANSWER)
            await answering.answer(send, scope, answer)
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001 - the last place that can answer
            await answering.fail(send, error, scope)

    def authenticate(self, scope: Any) -> dict[str, Any]:
        """Return the signed-in user. Of several `authorization` headers the first one counts.

        Raises:
            Thrown: 401 without a valid token; API keys cannot be issued yet, so none is valid.
        """
        tokens = self.answering.tokens
        if self.authentication == "JWT" and tokens is not None:
            given = next((v for name, v in scope["headers"] if name == b"authorization"), b"")
            if given[:7].lower() == b"bearer ":
                claims = tokens.verify(given[7:].strip().decode("latin-1"))
                if claims is not None:
                    return claims
        raise Thrown(401)

    async def read(
        self, run: Run, scope: Any, receive: Any
    ) -> tuple[dict[str, list[str]], bytes]:  # fmt: skip
        """Decode what the functions need; types wait for the shapes.

        Returns:
            The query's texts by name, and the body. Middleware sees the first text of each name.
        """
        if self.needs_headers:
            run.headers = _given_headers(scope["headers"])
        texts = _query(scope["query_string"]) if self.needs_query else {}
        body = await _body(scope, receive) if self.needs_body else b""
        if self.needs_request:
            run.request = _request(self.answering, scope, body)
        if self.middleware:
            run.query = {name: given[0] for name, given in texts.items()}
        return texts, body

    def apply_shapes(self, run: Run, texts: dict[str, list[str]], body: bytes) -> None:
        """Type the request's values by the function's shapes.

        Raises:
            InvalidInput: listing every wrong field.
        """
        errors: dict[str, list[str]] = {}
        if self.needs_query:
            run.query = self.from_query(texts, errors)
        if self.from_params is not None:
            run.params = self.from_params(run.params, errors)
        if self.shape is not None:
            run.input = self.shape(_json(body), "", errors)
        if errors:
            raise InvalidInput(errors)


def _query(raw: bytes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if raw:
        try:
            pairs = parse_qsl(
                raw.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_QUERY_FIELDS,
                errors="strict",
            )  # fmt: skip
        except ValueError:
            raise InvalidInput({}, "the query string cannot be read") from None
        for name, value in pairs:
            found.setdefault(name, []).append(value)
    return found


def _given_headers(given: Any) -> dict[str, str]:
    """Return headers as texts; one that came several times is a list with commas."""
    found = {name.decode("latin-1"): value.decode("latin-1") for name, value in given}
    if len(found) < len(given):
        for name in found:
            values = [v.decode("latin-1") for other, v in given if other.decode("latin-1") == name]
            found[name] = ("; " if name == "cookie" else ", ").join(values)
    return found


async def _body(scope: Any, receive: Callable[[], Any]) -> bytes:
    """Return the whole body; what `content-length` says of it is only used to refuse early.

    Raises:
        TooLarge: it has more than MAX_BODY_BYTES.
        Gone: the client left in the middle of it.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:12]) > MAX_BODY_BYTES:
            raise TooLarge
    parts, size, is_more = [], 0, True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        is_more = message.get("more_body", False)
        if size > MAX_BODY_BYTES:
            raise TooLarge
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _json(body: bytes) -> Any:
    if not body.strip():
        return {}
    try:
        return _decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        detail = "" if isinstance(error, RecursionError) else f": {error}"
        raise InvalidInput({}, f"the body is not valid JSON{detail[:120]}") from None


def _request(answering: Answering, scope: Any, body: bytes) -> dict[str, Any]:
    query = scope["query_string"].decode("latin-1")
    client = scope.get("client")
    return {
        "id": f"{answering.prefix}{next(answering.counter):x}",
        "method": scope["method"],
        "path": scope["path"],
        "url": scope["path"] + (f"?{query}" if query else ""),
        "ip": client[0] if client else "",
        "body": body.decode("utf-8", "replace"),
    }
