"""Read what a request carries: query, headers and body, as far as its functions need them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from bbops.runtime.flow.run import Function, Run
from bbops.runtime.http.forms import MULTIPART, URL_ENCODED, read_multipart, read_pairs
from bbops.runtime.http.headers import find_header, hide_cookies, read_media_type
from bbops.runtime.http.responses import Answering, TooLarge
from bbops.runtime.http.uploads import Received, Uploads
from bbops.runtime.steps.api_keys import KEY_NAME
from bbops.runtime.values.failures import InvalidInput, Thrown
from bbops.runtime.values.formats import HAS_NUL, name_json_fault
from bbops.runtime.values.shapes import refuse_unknown

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_PLAIN_JSON = frozenset({b"", b"application/json", b"application/json; charset=utf-8"})
"""How nearly every client says that a body is JSON."""

_decode = msgspec.json.Decoder().decode
_decode_exactly = msgspec.json.Decoder(float_hook=Decimal).decode

Body = tuple[bytes, bytes, Received | None]
"""What a body's `content-type` says, and the body; of one with files what came in its parts."""

NO_BODY: Body = (b"", b"", None)
NOTHING_READ: tuple[dict[str, list[str]], Body] = ({}, NO_BODY)


class Gone(Exception):
    """The client left before its body was whole: nobody waits for an answer."""


class Reading:
    """What one endpoint reads of its requests; made once per release."""

    __slots__ = (
        "answering", "decode", "fills", "from_form", "from_params", "from_query", "has_middleware",
        "has_shapes", "known", "max_body_bytes", "needs_body", "needs_headers",
        "needs_query", "needs_request", "reads", "shape", "uploads",
    )  # fmt: skip

    def __init__(
        self, method: str, function: Function, middleware: Sequence[Function],
        answering: Answering, max_body_bytes: int, uploads: Uploads | None,
        fills: str | None, *, takes_key: bool = False,
    ) -> None:  # fmt: skip
        """Take what the endpoint and its functions say.

        Args:
            fills: the field of the input that the refresh token of a cookie stands for.
            takes_key: an API key may stand in the query.
        """
        every = (function, *middleware)
        self.known: frozenset[str] | None = None
        if any(one.is_strict for one in every):
            own = (KEY_NAME,) if takes_key else ()
            self.known = frozenset(own).union(*(one.query_names for one in every))
        needs = frozenset().union(*(one.needs for one in every))
        has_body = method in _WITH_BODY
        self.answering, self.max_body_bytes = answering, max_body_bytes
        self.has_middleware = bool(middleware)
        self.shape = function.input if has_body else None
        self.decode = _decode_exactly if function.reads_exactly else _decode
        self.uploads, self.fills = uploads, fills
        self.from_query, self.from_params = function.from_query, function.from_params
        self.from_form = function.from_form
        self.needs_query = (
            "query" in needs or self.known is not None
            or any(one.query is not None for one in every)
        )  # fmt: skip
        self.needs_headers, self.needs_request = "headers" in needs, "request" in needs
        # files are taken when middleware lets the request pass, see `receive`
        self.needs_body = (
            has_body and uploads is None and (self.shape is not None or self.needs_request)
        )
        self.reads = self.needs_headers or self.needs_query or self.needs_body or self.needs_request
        shapes = (self.from_params, self.shape, uploads)
        self.has_shapes = self.needs_query or any(one is not None for one in shapes)

    async def read(
        self, run: Run, scope: Any, receive: Any
    ) -> tuple[dict[str, list[str]], Body]:  # fmt: skip
        """Decode what the functions need; types wait for the shapes.

        Returns:
            The query's texts by name, and the body. Middleware sees the first text of each name.
        """
        if self.needs_headers:
            run.headers = _given_headers(scope["headers"])
        texts = _query(scope["query_string"]) if self.needs_query else {}
        body = await read_body(scope, receive, self.max_body_bytes) if self.needs_body else NO_BODY
        scope["bbops"].bytes_in = len(body[1])
        if self.needs_request:
            run.request = _request(self.answering, scope, body[1])
        if self.has_middleware:
            run.query = {name: given[0] for name, given in texts.items()}
        return texts, body

    async def receive(self, scope: Any, receive: Any) -> Body:
        """Take the body of an endpoint with files; those go into the folder of the run.

        Raises:
            InvalidInput: its parts cannot be read.
            TooLarge: a file, or all of it.
            Unavailable: a file cannot be written.
        """
        assert self.uploads is not None  # noqa: S101 - or nobody calls it
        kind, options = read_media_type(find_header(scope["headers"], b"content-type"))
        if kind != MULTIPART:
            return await read_body(scope, receive, self.max_body_bytes)
        trace, most = scope["bbops"], self.uploads.max_body_bytes
        chunks = body_chunks(scope, receive, most)
        boundary = options.get("boundary", "")
        received = await self.uploads.receive(boundary, chunks, trace.folder)
        return MULTIPART.encode(), b"", received

    def apply_shapes(self, run: Run, texts: dict[str, list[str]], body: Body) -> None:
        """Type the request's values by the function's shapes.

        Raises:
            InvalidInput: listing every wrong field.
            Thrown: 415, the body is of a type that nobody reads here.
        """
        errors: dict[str, list[str]] = {}
        if self.needs_query:
            run.query = self.from_query(texts, errors)
            if self.known is not None:
                refuse_unknown(texts, self.known, errors)
        if self.from_params is not None:
            run.params = self.from_params(run.params, errors)
        if self.shape is not None:
            content_type, sent, _ = body
            given = (
                _json(sent, self.decode) if content_type in _PLAIN_JSON else self.read_other(body)
            )
            if self.fills is not None and run.kept is not None and type(given) is dict:
                given = {**given, self.fills: given.get(self.fills) or run.kept}
            run.input = self.shape(given, "", errors)
        if self.uploads is not None:
            received = body[2] or Received()
            run.input = (run.input or {}) | received.values(self.uploads.slots)
            errors |= received.errors
        if errors:
            raise InvalidInput(errors)

    def read_other(self, body: Body) -> Any:
        """Return what a body says that is not declared as plain JSON.

        Raises:
            InvalidInput: it is not what it should be.
            Thrown: 415, it is neither JSON nor a form.
        """
        content_type, sent, received = body
        if received is not None:
            assert self.from_form is not None  # noqa: S101 - there is a shape
            return self.from_form(received.texts)
        if not sent:  # `fetch` declares an empty text as text
            return {}
        kind, options = read_media_type(content_type)
        if options.get("charset", "utf-8").lower() not in {"utf-8", "utf8"}:
            raise Thrown(415, "the body's charset is not UTF-8")
        is_json = kind == "application/json" or kind.endswith("+json")
        # `curl -d '{…}'` calls it a form; no browser writes a form so
        if is_json or (kind == URL_ENCODED and sent.lstrip().startswith(b"{")):
            return _json(sent, self.decode)
        if self.from_form is None:
            raise Thrown(415, "expected a body of 'application/json'")
        if kind == URL_ENCODED:
            return self.from_form(read_pairs(sent, "the form"))
        if kind == MULTIPART:
            return self.from_form(read_multipart(sent, options.get("boundary", "")))
        raise Thrown(415, "expected a body of 'application/json', or a form")


def check_params(params: Mapping[str, str]) -> None:
    """Refuse what no parameter of a path may hold, be it declared or not.

    Raises:
        InvalidInput: a NUL, which no text of a request has.
    """
    for name, text in params.items():
        if "\0" in text:
            raise InvalidInput({name: [HAS_NUL]})


def _query(raw: bytes) -> dict[str, list[str]]:
    return read_pairs(raw, "the query string") if raw else {}


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


async def read_body(scope: Any, receive: Callable[[], Any], most_bytes: int) -> Body:
    """Return the whole body; what `content-length` says of it is only used to refuse early.

    Raises:
        TooLarge: it has more than `most_bytes`.
        Gone: the client left in the middle of it.
    """
    content_type = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type = value
        elif name == b"content-length" and value.isdigit() and int(value[:12]) > most_bytes:
            raise TooLarge(most_bytes)
    parts, size, is_more = [], 0, True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        is_more = message.get("more_body", False)
        if size > most_bytes:
            raise TooLarge(most_bytes)
    return content_type, parts[0] if len(parts) == 1 else b"".join(parts), None


async def body_chunks(
    scope: Any, receive: Callable[[], Any], most_bytes: int
) -> AsyncIterator[bytes]:
    """Yield a body as it comes, see `read_body`."""
    length = find_header(scope["headers"], b"content-length")
    if length.isdigit() and int(length[:12]) > most_bytes:
        raise TooLarge(most_bytes)
    size, is_more = 0, True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        data = message.get("body", b"")
        size += len(data)
        if size > most_bytes:
            raise TooLarge(most_bytes)
        scope["bbops"].bytes_in = size
        if data:
            yield data
        is_more = message.get("more_body", False)


def _json(body: bytes, decode: Callable[[bytes], Any]) -> Any:
    if not body.strip():
        return {}
    try:
        return decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        fault = name_json_fault(body, error)
        raise InvalidInput({}, f"the body is not valid JSON: {fault}") from None


def read_request(answering: Answering, scope: Any) -> tuple[dict[str, str], Mapping[str, Any]]:
    """Return headers and request as functions see those that a connection began with."""
    given = {"method": "GET", "query_string": b"", **scope}
    return _given_headers(scope["headers"]), _request(answering, given, b"")


def _request(answering: Answering, scope: Any, body: bytes) -> Mapping[str, Any]:
    query = scope["query_string"].decode("latin-1")
    client = scope.get("client")
    return {
        "id": answering.name_request(scope["bbops"]).decode(),
        "method": scope["method"],
        "path": scope["path"],
        "url": scope["path"] + (f"?{query}" if query else ""),
        "ip": client[0] if client else "",
        "body": body.decode("utf-8", "replace"),
    }
