"""Responses of a release: answers, errors, headers, what `catch` receives, and the history."""

from __future__ import annotations

from asyncio import CancelledError as Cancelled
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import inf
from time import perf_counter
from traceback import walk_tb
from typing import Any

import msgspec

from bbops.base.doors import Folder
from bbops.base.header_values import encode_value
from bbops.runtime.auth.api_keys import KeyUses
from bbops.runtime.auth.tokens import Credentials, Tokens
from bbops.runtime.flow.masking import Mask
from bbops.runtime.flow.run import Answer, Run, bound_run, code_of, message_of
from bbops.runtime.flow.tracing import RequestTracer
from bbops.runtime.http.errors import Refusal, Wording, describe_refusal
from bbops.runtime.http.exchanges import Exchange
from bbops.runtime.http.headers import (
    SMALL_BYTES,
    Headers,
    Parts,
    has_header,
    read_lines,
    set_headers,
    spare,
    write,
)
from bbops.runtime.steps.api_keys import ApiKeys
from bbops.runtime.values.failures import (
    NOTHING,
    BadValue,
    DatabaseFailure,
    Failure,
    HttpFailure,
    InvalidInput,
    StatementTimeout,
    Thrown,
    TooLong,
    Unavailable,
    WrongKind,
)
from bbops.runtime.values.operators import text
from bbops.runtime.values.values import FUEL, check_size

__all__ = ["Cancelled", "describe"]


MAX_ANSWER = 10_000_000
"""Characters and members of an answer's value, all the way down."""
COMPLAIN_SECONDS = 10.0
"""How often the log repeats a failure that is not one request's."""

_encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")
BODYLESS = frozenset((204, 304))
"""Statuses whose answers never have a body."""
_AS_IT_SAYS = (b"x-content-type-options", b"nosniff")
_PRIVATE = (b"cache-control", b"private, no-cache")
"""Of what somebody signed in sees: kept by nobody else, and shown again only when asked for."""
_PRIVATE_LINE = write([_PRIVATE])
_NOT_KEPT = (b"cache-control", b"no-store")
_PAGE: Headers = [
    (b"x-frame-options", b"SAMEORIGIN"), (b"referrer-policy", b"strict-origin-when-cross-origin"),
]  # fmt: skip
"""Of HTML: other sites do not frame it, and hear of its origin alone."""


class TooLarge(Thrown):
    """The body is longer than it may be; the rest of it is not read."""

    def __init__(self, most_bytes: int, what: str = "the body") -> None:
        super().__init__(413, f"{what} is larger than {most_bytes:,} bytes")


class Trace:
    """What is known of a request besides what the function sees; `scope["bbops"]`.

    `began` is on the monotonic clock. Most requests leave most of the rest as it is here: that
    costs them nothing.
    """

    began: float = 0.0
    route: str = ""
    user: Any = None
    bytes_in: int = 0
    failure: str = ""
    code: str = ""
    at: str = ""
    steps: Sequence[str] = ()
    endpoint: str = ""
    exchange: Exchange | None = None
    is_untold: bool = False
    request: bytes = b""
    lines: bytes = b""
    """Headers of the answer that were known before it, as HTTP writes them."""
    folder: Folder | None = None
    streams: Sequence[Any] = ()
    is_sent: bool = False
    by_cookie: bool = False
    sender: str = ""
    """The user of the control plane who has sent it; empty for other requests."""
    tracer: RequestTracer | None = None
    """The trace of a request with a sender."""
    refusal: Refusal | None = None
    """The reason of a refusal; None for an answer of the function, and for a failure."""


ANSWERED = (
    "at", "method", "path", "route", "status", "milliseconds", "user", "release", "bytes_in",
    "bytes_out", "request", "endpoint", "failure", "step", "steps", "exchange", "sender",
    "spans", "refusal",
)  # fmt: skip
"""What one line of the request history says; `at` is in seconds of the monotonic clock.

`steps` are all that waited for the one that failed, which is their last, by file and line;
`exchange` is of endpoints whose history is full, see `bbops.runtime.http.exchanges`; `sender` and
`spans`, see `bbops.runtime.flow.tracing`, are of requests from the Playground; `refusal` is the
reason of a refused request, see `bbops.runtime.http.errors`. What is empty at the end is left
out.
"""

Answered = tuple[Any, ...]
"""The values of ANSWERED, in its order: a plain tuple is what a request can afford."""

Record = Callable[[Answered], None]

SendWhole = Callable[[Any, int, bytes, bytes], bool]
"""Answers at once what ASGI needs two messages for: (send, status, header lines, body) → whether
it did. A server may offer it; names are in lower case, and a body comes with its length."""


class Answering:
    """How a release answers: its name on every answer, its errors, its environment."""

    def __init__(
        self, name: str, host: Any, env: Mapping[str, Any], tokens: Tokens | None, *,
        fuel: int, detailed: bool, history: Record | None = None,
        send_whole: SendWhole | None = None, mask: Mask | None = None,
        addons: Mapping[str, Any] | None = None, wording: Wording | None = None,
        credentials: Credentials | None = None, key_uses: KeyUses | None = None,
    ) -> None:  # fmt: skip
        self.host, self.tokens, self.fuel = host, tokens, fuel
        self.make_run = bound_run(host, env, tokens, addons or {})
        self.detailed, self.history, self.name = detailed, history, name
        self.send_whole = send_whole
        self.credentials = credentials or Credentials()
        self.api_keys = ApiKeys(host.database, host.clock, key_uses or KeyUses())
        self.mask, self.wording = mask or Mask(), wording or Wording({}, {}, host)
        self.complained: dict[str, float] = {}
        self.common_headers: Headers = [(b"x-release", name.encode()), _AS_IT_SAYS]
        self.json_lines = write([_JSON, *self.common_headers])
        self.json_lines += b"x-request-id: %b\r\ncontent-length: %d\r\n"
        self.request_name, self.counter = host.random.token(8).encode() + b"%x", count(1)

    def run(self) -> Run:
        """Return a Run with this release's doors, whose fuel pays for large values."""
        run = self.make_run()
        run.fuel = fuel = [self.fuel]
        FUEL.set(fuel)
        return run

    def name_request(self, trace: Trace) -> bytes:
        """Return the id of a request, which its answer, the history and the log have in common.

        What a client calls a request is not it: two of them could agree.
        """
        if not trace.request:
            trace.request = self.request_name % next(self.counter)
        return trace.request

    def send_json(self, send: Any, scope: Any, answer: Answer) -> Parts | None:
        """Send what nearly every function returns, a little JSON without headers.

        Returns:
            None, or the answer where it is another one, or not sent: that is for `send`.

        Raises:
            Failure: it cannot be sent.
        """
        status, value, headers, content_type = answer
        trace: Trace = scope["bbops"]
        if (
            self.send_whole is None or headers or content_type or value is NOTHING
            or type(status) is not int or not 200 <= status <= 599
            or status in BODYLESS or scope["method"] == "HEAD"
        ):  # fmt: skip
            return self.render(answer)
        body = encode(value)
        if len(body) > SMALL_BYTES:
            return status, body, [_JSON]
        name = trace.request
        if not name:  # `name_request` without a call
            name = trace.request = self.request_name % next(self.counter)
        lines = self.json_lines % (name, len(body)) + trace.lines
        if trace.user is not None and b"cache-control" not in trace.lines:
            lines += _PRIVATE_LINE
        if not self.send_whole(send, status, lines, body):
            return status, body, [_JSON]
        trace.is_sent = True
        if self.history is not None:
            self.remember(scope, trace, status, len(body))
        return None

    async def send(self, send: Any, scope: Any, status: int, body: bytes, headers: Headers) -> None:
        """Send one whole answer; HEAD, 204 and 304 have no body."""
        trace: Trace = scope["bbops"]
        every = self.dress(trace, headers)
        if len(body) > SMALL_BYTES:
            status, body, every = await spare(scope, status, body, every)
        if status in BODYLESS:
            body = b""
        else:
            every.append((b"content-length", b"%d" % len(body)))
        sent = b"" if scope["method"] == "HEAD" else body
        lines = write(every)
        trace.is_sent = True
        if self.send_whole is None or not self.send_whole(send, status, lines, sent):
            await send({"type": "http.response.start", "status": status, "headers": every})
            await send({"type": "http.response.body", "body": sent})
        if self.history is not None:
            self.remember(scope, trace, status, len(body))

    def dress(self, trace: Trace, headers: Headers) -> Headers:
        """Return all headers of an answer but those of its body's length and coding."""
        every = [*headers, *read_lines(trace.lines)]
        if trace.user is not None and not has_header(every, b"cache-control"):
            every.append(_PRIVATE)
        every += [one for one in self.common_headers if not has_header(headers, one[0])]
        every.append((b"x-request-id", self.name_request(trace)))
        return every

    def remember(self, scope: Any, trace: Trace, status: int, bytes_out: int) -> None:
        """Tell the history; the query string may hold secrets and stays out."""
        assert self.history is not None  # noqa: S101 - both callers have looked
        if trace.is_untold:
            return
        began, route, path = trace.began, trace.route, scope["path"]
        if path != route:  # a path without parameters hides nothing
            path = self.mask(route, scope)
        known = (
            began, scope["method"], path, route, status, 1000 * (perf_counter() - began),
            trace.user, self.name, trace.bytes_in, bytes_out, trace.request,
            trace.endpoint,
        )  # fmt: skip
        if (
            not trace.failure and trace.exchange is None and not trace.sender
            and trace.refusal is None
        ):  # fmt: skip
            self.history(known)
            return
        step = trace.steps[-1] if trace.steps else ""
        exchange = trace.exchange and trace.exchange.record(scope)
        described: Answered = (*known, trace.failure, step, list(trace.steps), exchange)
        if trace.sender or trace.refusal is not None:
            spans = trace.tracer.spans() if trace.tracer is not None else None
            described = (*described, trace.sender, spans)
        if trace.refusal is not None:
            described = (*described, trace.refusal)
        self.history(described)

    def render(self, answer: Answer) -> Parts:
        """Return status, body and headers of what a function returned.

        Raises:
            Failure: it cannot be sent.
        """
        status, value, headers, content_type = answer
        if type(status) is not int or not 200 <= status <= 599:
            raise WrongKind("the status of an answer is a whole number from 200 to 599")
        sent = set_headers(headers)
        if value is NOTHING:
            return status, b"", sent
        if content_type is None:
            body = encode(value)
            sent.append(_JSON)
        else:
            body = value if type(value) is bytes else text(value).encode()
            sent.append((b"content-type", encode_value(content_type)))
            if content_type.startswith("text/html"):
                sent += [one for one in _PAGE if not has_header(sent, one[0])]
        return status, body, sent

    async def fail(self, send: Any, error: BaseException, scope: Any) -> None:
        """Send the answer of a failure; one that nobody meant is logged with its file and line."""
        try:
            status, body, headers = self.failure(error, scope)
        except Failure as problem:  # the error's own value or headers cannot be sent
            status, body, headers = self.failure(problem.with_traceback(error.__traceback__), scope)
        if not has_header([*headers, *read_lines(scope["bbops"].lines)], b"cache-control"):
            headers.append(_NOT_KEPT)
        await self.send(send, scope, status, body, headers)

    def failure(self, error: BaseException, scope: Any) -> Parts:
        """Return status, body and headers of a failure's answer."""
        trace: Trace = scope["bbops"]
        if self.detailed:
            trace.at = next(reversed(blame(error)[0]), "")
        if isinstance(error, Thrown) and error.value is not NOTHING:
            check_size(error.value, MAX_ANSWER)
            trace.code = error.code or code_of(error.status)
            parts = error.status, encode(error.value), [*set_headers(error.headers), _JSON]
            self._note_refusal(error, trace, {})
            return parts
        body, headers = self.explain(error, scope)
        trace.code = body["code"]
        status = error.status if isinstance(error, Failure) else 500
        if isinstance(error, TooLarge):
            headers.append((b"connection", b"close"))
        status, value = self.wording.answer(status, body)
        parts = status, encode(value), [*headers, _JSON]
        self._note_refusal(error, trace, body)
        return parts

    def _note_refusal(self, error: BaseException, trace: Trace, body: Mapping[str, Any]) -> None:
        """Keep the reason of a response for the history, unless a failure is kept already."""
        if self.history is not None and not trace.failure and not trace.is_untold:
            trace.refusal = describe_refusal(error, trace.code, body, self.mask)

    def explain(
        self, error: BaseException, scope: Any, step: str = ""
    ) -> tuple[dict[str, Any], Headers]:  # fmt: skip
        """Return the automatic body of an error, and its headers; `step` as in `surprise`."""
        if isinstance(error, Thrown):
            code = error.code or code_of(error.status)
            headers = set_headers(error.headers)
            if error.status == 401:
                headers.append((b"www-authenticate", self.credentials.challenge))
            return {"code": code, "message": error.message or message_of(error.status)}, headers
        if isinstance(error, InvalidInput):
            return {"code": error.code, "message": error.message, "fields": error.fields}, []
        if isinstance(error, BadValue):
            shown = {} if error.fields else self.surprise(error, scope)[0]  # maybe the author's
            detail = {name: shown[name] for name in ("detail", "at") if name in shown}
            return self.bad_value(error) | detail, []
        if isinstance(error, DatabaseFailure):
            code = "conflict" if error.status == 409 else "invalidInput"
            text = self.wording.say(error.code, None, error.message)
            fields = {column: [text] for column in error.columns}
            return {"code": code, "message": error.message, "fields": fields}, []
        if isinstance(error, Unavailable):
            self.complain(error, scope)
            retry = (b"retry-after", b"%d" % error.retry_seconds)
            return {"code": error.code, "message": error.message}, [retry]
        if isinstance(error, StatementTimeout):
            self.surprise(error, scope)
            retry = (b"retry-after", b"1")
            return {"code": error.code, "message": "the database took too long"}, [retry]
        return self.surprise(error, scope, step)

    def bad_value(self, error: BadValue) -> dict[str, Any]:
        """Return the automatic body for a value that a step could do nothing with."""
        fields = error.fields
        if isinstance(error, TooLong):
            said = self.wording.say("maxLength", error.most, error.text)
            fields = {name: [said] for name in fields}
        return {"code": error.code, "message": error.said, "fields": fields}

    def complain(self, error: Unavailable, scope: Any) -> None:
        """Log what only the operator can mend; now and then, for it happens to every request."""
        scope["bbops"].failure = error.message
        now = perf_counter()
        if now - self.complained.get(error.code, -inf) > COMPLAIN_SECONDS:
            self.complained[error.code] = now
            self.host.log.write("error", error.message, {"code": error.code, "hint": error.hint})

    def surprise(
        self, error: BaseException, scope: Any, step: str = ""
    ) -> tuple[dict[str, Any], Headers]:  # fmt: skip
        """Log a failure nobody meant; its answer says only the request's id.

        Args:
            error: the failure.
            scope: of the request.
            step: which failed, where the failure itself does not know.
        """
        trace: Trace = scope["bbops"]
        trace.steps, detail = blame(error)
        trace.steps = trace.steps or ([step] if step else [])
        trace.failure, where = detail, trace.steps[-1] if trace.steps else ""
        request_id = self.name_request(trace).decode()
        route = f"{scope['method']} {self.mask(trace.route, scope)}"
        self.host.log.write("error", detail, {"step": where, "route": route, "request": request_id})
        body = {"code": "serverError", "message": "internal server error", "requestId": request_id}
        if self.detailed:
            body |= {"detail": detail, "at": where}
        return body, []


def blame(error: BaseException) -> tuple[list[str], str]:
    """Return (file:line of each step on the way to the failure, what happened) without any value.

    The last one is the step that failed; those before it are calls that waited for it.
    """
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    where = [f"{file}:{line}" for file, line in frames if file.endswith(".yaml")]
    if isinstance(error, Failure):
        return where, error.message
    return where, f"unexpected {type(error).__name__}"


def encode(value: Any) -> bytes:
    """Return a value as JSON; one that may unfold to more than it is has been measured."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise Failure("the answer cannot be written as JSON") from error


def describe(error: Failure) -> dict[str, Any]:
    """Return `error` as the steps of a `catch` read it; `step` is the file and line that failed."""
    code, message = error.code, error.message
    if isinstance(error, Thrown):
        code, message = code or code_of(error.status), message or message_of(error.status)
    row = error if isinstance(error, DatabaseFailure) else None
    steps, _ = blame(error)
    return {
        "code": code,
        "message": message,
        "status": (error.answered if isinstance(error, HttpFailure) else None) or error.status,
        "step": steps[-1] if steps else "",
        "fields": error.fields if isinstance(error, InvalidInput) else {},
        "table": row.table if row else None,
        "columns": list(row.columns) if row else [],
        "reason": error.reason if isinstance(error, HttpFailure) else None,
        "retryAfter": error.retry_after,
    }
