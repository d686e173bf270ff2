"""Results of the Playground: responses, their differences, and traces."""

from __future__ import annotations

import json
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

import msgspec

from bbops.review.contract.form_requests import Credential, OutgoingRequest
from bbops.review.contract.snippets import (
    DRAFT_HEADER,
    without_secrets,
    write_curl,
    write_python,
    write_typescript,
)
from bbops.review.outline.outline import Outline, StepOutline
from bbops.review.replay.recorded import Recorded
from bbops.review.replay.sending import Reply, Sent, compare
from bbops.runtime.flow.masking import mask_text, mask_value
from bbops.runtime.flow.tracing import SpanKind
from bbops.runtime.http.exchanges import MOST_READ_BYTES
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.mcp.requests import Exchanged, read_subject

MAX_LINES: Final = 100
"""The most lines of a trace that a page shows."""

_JSON: Final = "json"
_MAX_CHARACTER_BYTES: Final = 4
_SERIES: Final = {"step": "calc", "sql": "db", "http": "out"}
_Titles = Mapping[str, Sequence[tuple[int, str]]]
"""The lines and titles of the steps of each file, in the order of the lines."""


class Snippets(msgspec.Struct, frozen=True):
    """The request in three languages; credentials are the variables `TOKEN` and `DRAFT_TOKEN`."""

    curl: str
    typescript: str
    python: str


class PlaygroundResult(msgspec.Struct, frozen=True, rename="camel"):
    """A response of the live release or of a draft.

    Attributes:
        draft: the branch of the draft; empty for live.
        commit: the commit that sent the response.
        target: path and query of the request, without secrets.
        size_bytes: the size of the body; of a cut one, of the part that was read.
        headers: pairs, since a name may occur several times.
        body: the text of the body; empty if it is not text.
        base64: the body, if it is not text.
        is_cut: the body is longer than 256 KB, or took longer than 30 s.
        failure: the error of a failed request.
        step: the file and line of the error.
        snippets: the request to copy.
        trace: the steps, statements and outgoing requests, in the order of their start.
        user: the id of the signed-in user, from the token; empty without one.
    """

    draft: str
    commit: str
    method: str
    target: str
    status: int
    milliseconds: float
    size_bytes: int
    headers: list[tuple[str, str]]
    content_type: str
    body: str
    base64: str
    is_cut: bool
    failure: str
    step: str
    snippets: Snippets
    trace: list[TraceSpan] = []
    user: str = ""

    @property
    def phrase(self) -> str:
        """The reason phrase of the status, such as `Created`."""
        return HTTPStatus(self.status).phrase if self.status in set(HTTPStatus) else ""

    @property
    def pretty(self) -> str:
        """The body to show: JSON is indented, other texts stay."""
        if _JSON not in self.content_type:
            return self.body
        try:
            return json.dumps(json.loads(self.body), indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            return self.body


class TraceSpan(msgspec.Struct, frozen=True, rename="camel"):
    """A step, a statement or an outgoing request, see `bbops.runtime.flow.tracing.Span`.

    Attributes:
        depth: the number of enclosing spans.
        rows: the rows that a statement returned or changed; null if it has none.
    """

    kind: SpanKind
    place: str
    depth: int
    began_ms: float
    took_ms: float
    detail: str
    rows: int | None


class ResponseDifference(msgspec.Struct, frozen=True):
    """A place where two responses differ: a JSON pointer, or `status`."""

    at: str
    live: str
    draft: str


class ComparedResponses(msgspec.Struct, frozen=True):
    """The responses of live and of a draft to the same request."""

    live: PlaygroundResult
    draft: PlaygroundResult
    differences: list[ResponseDifference]


def write_result(
    exchanged: Exchanged, request: OutgoingRequest, credential: Credential | None, *,
    draft: str, url: str,
) -> PlaygroundResult:  # fmt: skip
    """Return the result of a request.

    Args:
        request: without its credential.
        credential: the request's credential; the result shows only its place.
        draft: the branch; empty for live.
        url: the URL of the API, for the snippets.
    """
    shown, reply = without_secrets(request, credential), exchanged.reply
    if draft:
        shown = replace(shown, headers=(*shown.headers, DRAFT_HEADER))
    base, kind = url.rstrip("/"), _content_type(reply)
    text, base64 = _read_body(reply.body, is_cut=reply.is_cut)
    return PlaygroundResult(
        draft, exchanged.commit, request.method, shown.target, reply.status,
        exchanged.milliseconds, len(reply.body), list(reply.headers), kind, text, base64,
        reply.is_cut, exchanged.failure, exchanged.step,
        Snippets(write_curl(shown, base), write_typescript(shown, base), write_python(shown, base)),
        [TraceSpan(*span) for span in exchanged.spans],
        exchanged.user or _read_user(credential),
    )  # fmt: skip


def find_differences(live: Reply, draft: Reply) -> list[ResponseDifference]:
    """Return the differences of two responses; secrets are masked in both."""
    digest = sha256(live.body[: MOST_READ_BYTES + 1]).hexdigest()[:16]
    before = Recorded("GET", "", {}, "", live.status, _mask(live.body), digest)
    found = compare(before, Sent(draft.status, draft.body))
    return [ResponseDifference(item.at, item.before, item.now) for item in found]


def _content_type(reply: Reply) -> str:
    return next((value for name, value in reply.headers if name == "content-type"), "")


def _read_body(body: bytes, *, is_cut: bool) -> tuple[str, str]:
    """Return the text and the base64 of a body; one of them is empty."""
    whole = body
    if is_cut:  # the last character may be cut, too
        whole = body.decode(errors="ignore").encode() if _is_text_so_far(body) else body
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        return "", b64encode(body).decode()
    return ("", b64encode(body).decode()) if "\0" in text else (text, "")


def _is_text_so_far(body: bytes) -> bool:
    return any(_is_utf8(body[: len(body) - cut]) for cut in range(_MAX_CHARACTER_BYTES))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_user(credential: Credential | None) -> str:
    is_token = credential is not None and credential.key.lower() == "authorization"
    return read_subject(credential.value) if credential is not None and is_token else ""


def _mask(body: bytes) -> str:
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return mask_text(body.decode(errors="replace"))
    return msgspec.json.encode(mask_value(value)).decode()


# ---- traces for pages: titles of steps, links to their lines, bars
@dataclass(frozen=True, slots=True)
class TraceLine:
    """A step, a statement or an outgoing request.

    Attributes:
        series: `calc` is a step, `db` a statement, `out` an outgoing request.
        place: a step's file and line; empty for the others.
        url: the page of the place.
        began_ms: milliseconds from the start of the request.
        rows: the rows of a statement; None if it has none.
    """

    title: str
    series: str
    place: str
    url: str
    depth: int
    began_ms: float
    took_ms: float
    detail: str
    rows: int | None


@dataclass(frozen=True, slots=True)
class TraceView:
    """The lines of a trace.

    Attributes:
        left: the number of lines that are not shown.
        steps: the number of steps.
        statements: the number of SQL statements.
        total_ms: the milliseconds from the start of the request to the end of the last line.
    """

    lines: Sequence[TraceLine]
    left: int
    steps: int
    statements: int
    total_ms: float

    def bar(self, line: TraceLine) -> tuple[float, float]:
        """Return the start and width of a line's bar, in percent of the whole trace."""
        total = self.total_ms or 1.0
        start = round(min(100 * line.began_ms / total, 99.5), 2)
        return start, round(min(max(100 * line.took_ms / total, 0.5), 100 - start), 2)


def view_trace(
    spans: Sequence[TraceSpan], outline: Outline | None, links: OutlineLinks
) -> TraceView:
    """Return the trace for a page; several lines of code of one step become one line.

    Args:
        outline: the outline of the commit, for the titles of steps; None for no titles.
    """
    lines = _merge(_lines(spans, _read_titles(outline), links))
    return TraceView(
        lines[:MAX_LINES], max(len(lines) - MAX_LINES, 0),
        sum(line.series == "calc" for line in lines), sum(line.series == "db" for line in lines),
        max((line.began_ms + line.took_ms for line in lines), default=0.0),
    )  # fmt: skip


def _read_titles(outline: Outline | None) -> _Titles:
    if outline is None:
        return {}
    return {
        function.file: sorted(_flatten(function.steps)) for function in outline.functions
    }  # fmt: skip


def _flatten(steps: Iterable[StepOutline]) -> Iterator[tuple[int, str]]:
    for step in steps:
        yield step.line, step.title
        for block in step.blocks:
            yield from _flatten(block.steps)


def _lines(
    spans: Iterable[TraceSpan], titles: _Titles, links: OutlineLinks
) -> Iterator[TraceLine]:  # fmt: skip
    for span in spans:
        file, _, number = span.place.rpartition(":")
        title, line = _find_title(titles.get(file, ()), int(number or 0), span)
        place = f"{file}:{line}" if file else ""
        url = links.source(file, line) if file else ""
        yield TraceLine(
            title, _SERIES[span.kind], place, url, span.depth, span.began_ms, span.took_ms,
            span.detail, span.rows,
        )  # fmt: skip


def _find_title(
    steps: Sequence[tuple[int, str]], line: int, span: TraceSpan
) -> tuple[str, int]:  # fmt: skip
    """Return the title and the line of a span's step."""
    if span.kind != "step":
        return ("Statement" if span.kind == "sql" else "Request to"), line
    index = bisect_right(steps, line, key=lambda step: step[0]) - 1
    return (steps[index][1], steps[index][0]) if index >= 0 else ("Step", line)


def _merge(lines: Iterable[TraceLine]) -> list[TraceLine]:
    """Merge adjacent lines of one place: the code of a step may have several lines."""
    merged: list[TraceLine] = []
    for line in lines:
        last = merged[-1] if merged else None
        if last is not None and line.place and (last.place, last.depth) == (line.place, line.depth):
            took = line.began_ms + line.took_ms - last.began_ms
            merged[-1] = replace(last, took_ms=round(took, 3))
        else:
            merged.append(line)
    return merged
