"""The trace of a request as a page shows it: titles of steps, links to their lines, and bars."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bbops.review.outline.outline import Outline, StepOutline
from bbops_server.control_plane.playground.results import TraceSpan
from bbops_server.control_plane.web.outline_links import OutlineLinks

MAX_LINES: Final = 100
_SERIES: Final = {"step": "calc", "sql": "db", "http": "out"}
_Titles = Mapping[str, Sequence[tuple[int, str]]]
"""The steps of each file: line and title, by line."""


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
        steps: the number of steps, and `statements` that of statements.
        total_ms: the end of the last line.
    """

    lines: Sequence[TraceLine]
    left: int
    steps: int
    statements: int
    total_ms: float

    def bar(self, line: TraceLine) -> tuple[float, float]:
        """Return start and width of a line's bar, in percent of the whole trace."""
        total = self.total_ms or 1.0
        start = round(min(100 * line.began_ms / total, 99.5), 2)
        return start, round(min(max(100 * line.took_ms / total, 0.5), 100 - start), 2)


def view_trace(
    spans: Sequence[TraceSpan], outline: Outline | None, links: OutlineLinks
) -> TraceView:
    """Return the lines of a trace; lines of code that are one step are one line.

    Args:
        outline: the outline of the commit, for the titles of steps; None shows their places.
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
    """Return the lines without repeated places: the code of a step may have several lines."""
    merged: list[TraceLine] = []
    for line in lines:
        last = merged[-1] if merged else None
        if last is not None and line.place and (last.place, last.depth) == (line.place, line.depth):
            took = line.began_ms + line.took_ms - last.began_ms
            merged[-1] = replace(last, took_ms=round(took, 3))
        else:
            merged.append(line)
    return merged
