"""Read what a request carries: query, headers and body, as far as its functions need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from bbops.runtime.answering import MAX_BODY_BYTES, Answering, TooLarge
from bbops.runtime.failures import InvalidInput
from bbops.runtime.flow import Function, Run
from bbops.runtime.headers import hide_cookies

MAX_QUERY_FIELDS = 1_000

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

_decode = msgspec.json.Decoder().decode

Read = tuple[dict[str, list[str]], bytes]
"""The query's texts by name, and the body."""

NOTHING_READ: Read = ({}, b"")


class Gone(Exception):
    """The client left before its body was whole: nobody waits for an answer."""


class Reading:
    """What one endpoint reads of its requests; made once per release."""

    __slots__ = (
        "answering", "from_params", "from_query", "has_middleware", "has_shapes", "needs_body",
        "needs_headers", "needs_query", "needs_request", "reads", "shape",
    )  # fmt: skip

    def __init__(
        self, method: str, function: Function, middleware: Sequence[Function], answering: Answering
    ) -> None:
        every = (function, *middleware)
        needs = frozenset().union(*(one.needs for one in every))
        has_body = method in _WITH_BODY
        self.answering = answering
        self.has_middleware = bool(middleware)
        self.shape = function.input if has_body else None
        self.from_query, self.from_params = function.from_query, function.from_params
        self.needs_query = "query" in needs or any(one.query is not None for one in every)
        self.needs_headers, self.needs_request = "headers" in needs, "request" in needs
        self.needs_body = has_body and (self.shape is not None or self.needs_request)
        self.reads = self.needs_headers or self.needs_query or self.needs_body or self.needs_request
        self.has_shapes = self.needs_query or self.from_params is not None or self.shape is not None

    async def read(self, run: Run, scope: Any, receive: Any) -> Read:
        """Decode what the functions need; types wait for the shapes.

        Middleware sees the first text of each name of the query.
        """
        if self.needs_headers:
            run.headers = _given_headers(scope["headers"])
        texts = _query(scope["query_string"]) if self.needs_query else {}
        body = await _body(scope, receive) if self.needs_body else b""
        scope["bbops"].bytes_in = len(body)
        if self.needs_request:
            run.request = _request(self.answering, scope, body)
        if self.has_middleware:
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
