"""Trace one request: its steps by file and line, their statements, and its outgoing requests.

Compiled code carries the file and lines of its YAML, so Python's own tracing tells the steps apart.
Other requests pay nothing: tracing is on only while the task of a traced request runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, Final, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")
SpanKind = Literal["step", "sql", "http"]

MAX_SPANS: Final = 500
"""Spans that a trace keeps; a loop may run many more."""
MAX_DETAIL: Final = 2_000
MAX_DETAILS: Final = 64_000
"""Characters of all details of a trace, which is kept in the history; later ones are empty."""
_STATEMENTS: Final = frozenset({"read", "write", "change", "rows", "write_all"})
_DATABASES: Final = ("/bbops/database/", "\\bbops\\database\\")
_HTTP_FILE: Final = ("host/http.py", "host\\http.py")

TRACING: Final[ContextVar[RequestTracer | None]] = ContextVar("bbops_tracing", default=None)
"""The tracer of the current request, for the branches of `parallel`, which have their own tasks."""


class Span(NamedTuple):
    """A step, a statement or an outgoing request.

    Attributes:
        place: a step's file and line, such as `functions/notes/list.yaml:9`; empty for the others.
        depth: the number of spans around it.
        began_ms: milliseconds from the start of the request.
        detail: the statement, whose values are `?`, or the method and host of a request.
        rows: the rows that a statement returned or changed; None if it failed.
    """

    kind: SpanKind
    place: str
    depth: int
    began_ms: float
    took_ms: float
    detail: str = ""
    rows: int | None = None


class _OpenSpan:
    """A span that may not have ended; `number` is its order among all."""

    __slots__ = ("began", "depth", "detail", "kind", "line", "number", "rows", "until")

    def __init__(self, kind: SpanKind, number: int, depth: int, line: int, detail: str) -> None:
        self.kind, self.number, self.depth, self.line, self.detail = (
            kind, number, depth, line, detail,
        )  # fmt: skip
        self.began = self.until = perf_counter()
        self.rows: int | None = None


class _Parent(NamedTuple):
    """The span around others; `depth` is -1 without one."""

    kind: SpanKind | None
    depth: int
    place: str


_NO_PARENT: Final = _Parent(None, -1, "")


class RequestTracer:
    """The trace of one request."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._open: dict[FrameType, _OpenSpan] = {}
        self._bases: dict[FrameType, _Parent] = {}
        self._ended: list[tuple[int, Span]] = []
        self._kinds: dict[CodeType, SpanKind | None] = {}
        self._count, self._room = 0, MAX_DETAILS

    def spans(self) -> list[Span]:
        """Return the spans so far, in the order in which they began; at most MAX_SPANS."""
        now = [(span.number, self._close(frame, span)) for frame, span in self._open.items()]
        return [span for _, span in sorted([*self._ended, *now])][:MAX_SPANS]

    def drive(self, coroutine: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Return a coroutine that runs another one under this trace."""
        return self._run(coroutine, self._parent_of(sys._getframe(1)))  # noqa: SLF001 - as traceback

    async def _run(self, coroutine: Coroutine[Any, Any, T], parent: _Parent) -> T:
        token = TRACING.set(self)
        try:
            result: T = await _TracedRun(self, coroutine, parent)
            return result
        finally:
            TRACING.reset(token)

    def begin(self, driver: FrameType, parent: _Parent) -> None:
        """Note the span around the frames that a driver runs."""
        self._bases[driver] = parent

    # ---- events of sys.settrace
    def enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        """Follow a frame that starts or resumes, if it has steps, a statement or a request."""
        known = self._open.get(frame)
        if known is not None:
            return self._follow_step if known.kind == "step" else self._follow_call
        code = frame.f_code
        if code.co_filename.endswith(".yaml"):
            return self._follow_step
        if code not in self._kinds:
            self._kinds[code] = _kind_of(code)
        kind = self._kinds[code]
        if kind is None or self._parent_of(frame.f_back).kind == kind:
            return None
        self._begin(frame, kind, 0, _describe(kind, frame.f_locals))
        return self._follow_call

    def _follow_step(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        known = self._open.get(frame)
        if event == "line" and (known is None or known.line != frame.f_lineno):
            if known is not None:
                known.until = perf_counter()
                self._end(frame)
            self._begin_step(frame)
        elif event == "return" and known is not None:  # the end, or an await that suspends
            known.until = perf_counter()
        return self._follow_step

    def _follow_call(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        span = self._open.get(frame)
        if event == "return" and span is not None:
            span.until, span.rows = perf_counter(), _count_rows(argument)
        return self._follow_call

    # ---- spans
    def _begin_step(self, frame: FrameType) -> None:
        """Begin a step, unless its code runs in several frames, such as a list's."""
        parent = self._parent_of(frame.f_back)
        if parent.place != f"{frame.f_code.co_filename}:{frame.f_lineno}":
            self._begin(frame, "step", frame.f_lineno, "")

    def _begin(self, frame: FrameType, kind: SpanKind, line: int, detail: str) -> None:
        self._count += 1
        if self._count > MAX_SPANS and kind != "step":
            return
        self._room -= len(detail)
        detail = detail if self._room >= 0 else ""
        depth = self._parent_of(frame.f_back).depth + 1
        self._open[frame] = _OpenSpan(kind, self._count, depth, line, detail)

    def _end(self, frame: FrameType) -> None:
        span = self._open.pop(frame)
        is_prologue = span.kind == "step" and span.line == frame.f_code.co_firstlineno
        if span.number <= MAX_SPANS and not is_prologue:
            self._ended.append((span.number, self._close(frame, span)))

    def _close(self, frame: FrameType, span: _OpenSpan) -> Span:
        began = round(1_000 * (span.began - self._began), 3)
        took = round(1_000 * (span.until - span.began), 3)
        place = _place_of(frame, span)
        return Span(span.kind, place, span.depth, began, took, span.detail, span.rows)

    def _parent_of(self, frame: FrameType | None) -> _Parent:
        """Return the span around what a frame calls."""
        while frame is not None:
            span = self._open.get(frame)
            if span is not None:
                return _Parent(span.kind, span.depth, _place_of(frame, span))
            if frame in self._bases:
                return self._bases[frame]
            frame = frame.f_back
        return _NO_PARENT


def _place_of(frame: FrameType, span: _OpenSpan) -> str:
    return f"{frame.f_code.co_filename}:{span.line}" if span.kind == "step" else ""


class _TracedRun:
    """An awaitable that runs a coroutine, with tracing on while it runs."""

    def __init__(
        self, tracer: RequestTracer, coroutine: Coroutine[Any, Any, Any], parent: _Parent
    ) -> None:
        self._tracer, self._coroutine, self._parent = tracer, coroutine, parent

    def __await__(self) -> Generator[Any, Any, Any]:
        self._tracer.begin(sys._getframe(), self._parent)  # noqa: SLF001 - as traceback does
        resume: Callable[[Any], Any] = self._coroutine.send
        argument: Any = None
        while True:
            before = sys.gettrace()
            sys.settrace(self._tracer.enter)
            try:
                awaited = resume(argument)
            except StopIteration as ended:
                return ended.value
            finally:
                sys.settrace(before)
            try:
                resume, argument = self._coroutine.send, (yield awaited)
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as error:  # noqa: BLE001 - passed on, such as a cancellation
                resume, argument = self._coroutine.throw, error


def _kind_of(code: CodeType) -> SpanKind | None:
    """Return the kind of the span that a function's call is; None for most functions."""
    name, file = code.co_name, code.co_filename
    if name in _STATEMENTS and any(part in file for part in _DATABASES):
        return "sql" if code.co_varnames[:1] == ("self",) else None
    return "http" if name == "send" and file.endswith(_HTTP_FILE) else None


def _describe(kind: SpanKind, arguments: dict[str, Any]) -> str:
    """Return the statement, or the method and host, without values."""
    if kind == "http":
        request = arguments.get("request")
        host = urlsplit(getattr(request, "url", "")).netloc.rpartition("@")[2]
        return f"{getattr(request, 'method', '')} {host}"[:MAX_DETAIL]
    if "sql" in arguments:
        return str(arguments["sql"])[:MAX_DETAIL]
    statements = arguments.get("statements", ())
    return "\n".join(str(statement[0]) for statement in statements)[:MAX_DETAIL]


def _count_rows(returned: Any) -> int | None:
    """Return the rows in the result of a statement; None for an await that suspends."""
    if isinstance(returned, int):
        return returned
    if not isinstance(returned, list):
        return None
    nested = [rows for rows in returned if isinstance(rows, list)]
    return sum(map(len, nested)) if nested else len(returned)
