"""From an ASGI request to a function and back, specialised per endpoint.

What an endpoint does not use, it does not pay for: query, headers and body are decoded only when
its function, or its middleware, needs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from bbops.runtime.admission import Admission, check_name
from bbops.runtime.answering import MAX_ANSWER, MAX_BODY_BYTES, Answering, TooLarge
from bbops.runtime.cors import Cors
from bbops.runtime.failures import NOTHING, InvalidInput, Thrown
from bbops.runtime.flights import Flight, Flights
from bbops.runtime.flow import Answer, Function, Run
from bbops.runtime.headers import hide_cookies
from bbops.runtime.limits import Limit
from bbops.runtime.session_cookies import SessionCookies
from bbops.runtime.values import check_size

MAX_QUERY_FIELDS = 1_000

_NOTHING_READ: tuple[dict[str, list[str]], bytes] = ({}, b"")

_decode = msgspec.json.Decoder().decode


class Gone(Exception):
    """The client left before its body was whole: nobody waits for an answer."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What stands between a route and its function."""

    method: str
    path: str
    timeout_seconds: float
    flights: Flights
    limit: Limit | None
    cors: Cors | None
    authentication: str
    channel: str
    middleware: tuple[Function, ...]
    session: SessionCookies | None = None
    by_name: Limit | None = None


class Pipeline:
    """One endpoint's way from request to answer; made once per release."""

    __slots__ = (
        "admit", "admit_later", "answering", "by_name", "cors", "fills", "flights", "from_params",
        "from_query", "function", "has_shapes", "has_vars", "keep", "middleware", "needs_body",
        "needs_headers", "needs_query", "needs_request", "reads", "route", "shape",
        "timeout_seconds", "typed", "unfolds",
    )  # fmt: skip

    def __init__(self, function: Function, policy: Policy, answering: Answering) -> None:
        self.function, self.answering = function, answering
        self.middleware, self.cors, self.route = policy.middleware, policy.cors, policy.path
        self.flights, self.timeout_seconds = policy.flights, policy.timeout_seconds
        every = (function, *policy.middleware)
        needs = frozenset().union(*(one.needs for one in every))
        has_body = policy.method in {"POST", "PUT", "PATCH"}
        admission = Admission(
            policy.authentication, policy.limit, policy.channel, answering,
            shows_token="credential" in needs, session=policy.session,
            is_change=policy.method != "GET",
        )  # fmt: skip
        self.admit, self.admit_later = admission.admit, admission.admit_later
        self.by_name = policy.by_name
        session = policy.session if policy.session is not None and policy.session.role else None
        self.keep = session.keep if session is not None else None
        self.fills = session.fills if session is not None else None
        self.shape = function.input if has_body else None
        self.unfolds = any(one.unfolds for one in every)
        self.typed = [
            one for one in policy.middleware if one.params is not None or one.query is not None
        ]
        self.needs_query = "query" in needs or any(one.query is not None for one in every)
        self.needs_headers = "headers" in needs
        self.has_vars = "vars" in needs
        self.needs_request = "request" in needs
        self.needs_body = has_body and (self.shape is not None or self.needs_request)
        self.from_query, self.from_params = function.from_query, function.from_params
        self.reads = self.needs_headers or self.needs_query or self.needs_body or self.needs_request
        self.has_shapes = self.needs_query or self.from_params is not None or self.shape is not None

    async def __call__(self, scope: Any, receive: Any, send: Any, params: dict[str, str]) -> None:
        """Answer one request, in the time it has and for as long as its client waits."""
        flight: Flight = scope["bbops"]
        flights, answering = self.flights, self.answering
        flight.receive = receive
        flight.task, flight.answering = asyncio.current_task(flights.loop), answering
        flight.timeout_seconds, flight.route = self.timeout_seconds, self.route
        flights.flying.add(flight)
        try:
            answer = await self.run(scope, receive, params, flight)
            if not answering.send_json(send, scope, answer):
                await answering.send(send, scope, *answering.render(answer))
        except Gone:
            pass
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the last place
            await self.fail(scope, send, flight, error)
        finally:
            flights.land(flight)

    async def fail(self, scope: Any, send: Any, flight: Flight, error: BaseException) -> None:
        """Answer a failure; a request that was ended from outside has one only if it was late."""
        try:
            if not isinstance(error, asyncio.CancelledError):
                await self.answering.fail(send, error, scope)
                return
        except asyncio.CancelledError as cancelled:
            error = cancelled
        if not flight.ended_by or flight.task is None:
            raise error
        flight.task.uncancel()
        if flight.ended_by == "timeout" and not flight.is_sent:
            late = Thrown(503, "it took too long", headers={"retry-after": "1"})
            await self.answering.fail(send, late, scope)

    async def run(
        self, scope: Any, receive: Any, params: dict[str, str], flight: Flight
    ) -> Answer:  # fmt: skip
        """Return what middleware or function answer.

        Raises:
            Exception: whatever they throw; Thrown, InvalidInput and TooLarge where the request
                does not reach them.
            Gone: the client left.
        """
        if self.cors is not None:
            flight.headers = self.cors.headers(scope)
        run = self.answering.run()
        run.params = params
        if self.has_vars:
            run.vars = {}
        if self.admit is not None:
            self.admit(run, scope)
        if self.admit_later is not None:
            await self.admit_later(run, scope)
        texts, body = await self.read(run, scope, receive) if self.reads else _NOTHING_READ
        flight.is_read = True
        for function in self.middleware:
            if self.typed and function in self.typed:
                answer = await run_typed(function, run, texts)
            else:
                answer = await function.flow(run)
            if answer[1] is not NOTHING:
                break
        else:
            if self.has_shapes:
                self.apply_shapes(run, texts, body)
            if self.by_name is not None:
                check_name(self.by_name, run.input)
            answer = await self.function.flow(run)
            if self.keep is not None:
                answer = self.keep(scope, answer)
        if self.unfolds:
            check_size(answer[1], MAX_ANSWER)
        return answer

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
        scope["bbops"].bytes_in = len(body)
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
            sent = _json(body)
            if self.fills is not None and run.kept is not None and type(sent) is dict:
                sent = {**sent, self.fills: sent.get(self.fills) or run.kept}
            run.input = self.shape(sent, "", errors)
        if errors:
            raise InvalidInput(errors)


async def run_typed(function: Function, run: Run, texts: dict[str, list[str]]) -> Answer:
    """Run middleware on params and query typed by its own shapes; what follows sees the texts.

    Raises:
        InvalidInput: listing every wrong field.
    """
    params, query = run.params, run.query
    errors: dict[str, list[str]] = {}
    if function.from_params is not None:
        run.params = function.from_params(params, errors)
    if function.query is not None:
        run.query = function.from_query(texts, errors)
    if errors:
        raise InvalidInput(errors)
    answer = await function.flow(run)
    run.params, run.query = params, query
    return answer


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
    """Return headers as texts; one that came several times is a list with commas.

    Cookies of the control plane are not among them.
    """
    found = {name.decode("latin-1"): value.decode("latin-1") for name, value in given}
    if len(found) < len(given):
        for name in found:
            values = [v.decode("latin-1") for other, v in given if other.decode("latin-1") == name]
            found[name] = ("; " if name == "cookie" else ", ").join(values)
    if "cookie" in found:
        found["cookie"] = hide_cookies(found["cookie"])
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
