"""Charts as values: the template `charts.html` draws them as SVG, without scripts and styles.

A chart has the coordinates of its shapes and the rows of its table, from the same numbers. Its
drawing is stretched to the width of the page, so texts are beside it, not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from bbops.base.json_traffic import Traffic, TrafficPoint

WIDTH: Final = 600
HEIGHT: Final = 120
_DAY: Final = 86_400
Read = Callable[[TrafficPoint], float | None]
"""Reads the value of a series from a point; None without a value."""


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A column of the drawing for one step of time.

    Attributes:
        top: the upper end of its bar; empty for a chart with lines.
        title: its time and values, as a tooltip.
    """

    x: str
    width: str
    top: str
    height: str
    title: str


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line through the values of a series.

    Attributes:
        kind: the class `series-1` to `series-3`.
        path: the attribute `d` of its path.
    """

    name: str
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class ChartMark:
    """A moment to mark on a chart, such as a release."""

    x: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its text alternatives.

    Attributes:
        id: for the headings of the page.
        kind: the class of its bars.
        summary: the numbers that matter, as a sentence.
        top: the value at its upper edge, with its unit.
        names: the headings of the table.
        rows: the cells of the table; steps without requests are left out.
    """

    id: str
    title: str
    kind: str
    summary: str
    top: str
    begin: str
    end: str
    columns: Sequence[ChartColumn]
    lines: Sequence[ChartLine]
    marks: Sequence[ChartMark]
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ChartRelease:
    """A release that went live at a time in seconds since 1970."""

    at: float
    name: str


def draw_charts(traffic: Traffic, releases: Sequence[ChartRelease]) -> Sequence[Chart]:
    """Return the charts of a project: requests, durations and failures."""
    return (
        _draw_bars(traffic, releases, "requests", "Requests", _summarize_requests(traffic), _count),
        _draw_lines(traffic, releases),
        _draw_bars(
            traffic, releases, "errors", "Failures", summarize_failures(traffic.total), _failures
        ),
    )


def summarize_failures(total: TrafficPoint) -> str:
    """Return the share of requests that failed, as a sentence."""
    if not total.count:
        return "no requests"
    share = f"{100 * total.failures / total.count:.2g} %"
    return f"{total.failures:,} of {count_text(total.count)} failed ({share})"


def count_text(count: int) -> str:
    """Return a number of requests."""
    return f"{count:,} request" + ("" if count == 1 else "s")


def show_milliseconds(value: float | None) -> str:
    """Return a duration with as many digits as it is exact."""
    if value is None:
        return "none"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def round_up(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, 50 and so on, at least 1."""
    step = 1.0
    while True:
        for factor in (1, 2, 5):
            if value <= factor * step:
                return factor * step
        step *= 10


def _summarize_requests(traffic: Traffic) -> str:
    busiest = max(traffic.points, key=lambda point: point.count)
    if not busiest.count:
        return "no requests"
    when = _show_time(traffic, busiest.at)
    most = f"at most {busiest.count:,} in {_show_step(traffic.step_seconds)} (at {when})"
    return f"{count_text(traffic.total.count)}, {most}"


def _draw_bars(
    traffic: Traffic, releases: Sequence[ChartRelease], name: str, title: str, summary: str,
    read: Read,
) -> Chart:  # fmt: skip
    top = round_up(max((read(point) or 0.0 for point in traffic.points), default=0.0))
    columns = [
        _column(traffic, number, read(point) or 0.0, top, f"{read(point) or 0:,.0f}")
        for number, point in enumerate(traffic.points)
    ]
    return Chart(
        name, title, "series-2" if name == "errors" else "series-1", summary, f"{top:,.0f}",
        *_ends(traffic), columns, (), tuple(_marks(traffic, releases)), ("Time", title),
        [
            (_show_time(traffic, point.at), f"{read(point) or 0:,.0f}")
            for point in traffic.points
            if point.count
        ],
    )  # fmt: skip


def _draw_lines(traffic: Traffic, releases: Sequence[ChartRelease]) -> Chart:
    """Return the chart of percentiles; its scale leaves out peaks of p99, which are cut off."""
    series: Sequence[tuple[str, Read]] = (("p50", _p50), ("p95", _p95), ("p99", _p99))
    top = round_up(max((point.p95 or 0.0 for point in traffic.points), default=0.0) * 1.2)
    total = traffic.total
    summary = (
        f"half within {show_milliseconds(total.p50)}, 95 % within {show_milliseconds(total.p95)},"
        f" slowest {show_milliseconds(total.slowest)}"
        if total.count
        else "no requests"
    )
    columns = [
        _column(traffic, number, 0.0, top, ", ".join(_percentiles(point)))
        for number, point in enumerate(traffic.points)
        if point.count
    ]
    lines = [
        ChartLine(name, f"series-{number}", _path(traffic, read, top))
        for number, (name, read) in enumerate(series, 1)
    ]
    return Chart(
        "durations", "Duration", "", summary, f"{top:,.0f} ms", *_ends(traffic), columns, lines,
        tuple(_marks(traffic, releases)), ("Time", "p50", "p95", "p99", "slowest"),
        [_duration_row(traffic, point) for point in traffic.points if point.count],
    )  # fmt: skip


def _duration_row(traffic: Traffic, point: TrafficPoint) -> Sequence[str]:
    values = (point.p50, point.p95, point.p99, point.slowest)
    return (_show_time(traffic, point.at), *map(show_milliseconds, values))


def _percentiles(point: TrafficPoint) -> Iterator[str]:
    for name, value in (("p50", point.p50), ("p95", point.p95), ("p99", point.p99)):
        yield f"{name} {show_milliseconds(value)}"


def _column(traffic: Traffic, number: int, value: float, top: float, text: str) -> ChartColumn:
    width = WIDTH / len(traffic.points)
    height = HEIGHT * value / top
    if value:
        height = max(height, 2.0)  # one error among many requests stays visible
    title = f"{_show_time(traffic, traffic.points[number].at)}: {text}"
    return ChartColumn(
        _show(number * width), _show(width * 0.8), _show(HEIGHT - height), _show(height), title
    )  # fmt: skip


def _path(traffic: Traffic, read: Read, top: float) -> str:
    """Return a path with a gap at each step without a value.

    The line begins and ends at the edges of its steps, so that a lone value is visible.
    """
    half = WIDTH / len(traffic.points) / 2
    values = [(number, read(point)) for number, point in enumerate(traffic.points)]
    parts: list[str] = []
    for is_gap, steps in groupby(values, key=lambda step: step[1] is None):
        if not is_gap:
            dots = [
                ((2 * number + 1) * half, HEIGHT * (1 - min(value or 0.0, top) / top))
                for number, value in steps
            ]
            parts.append(f"M{_show(dots[0][0] - half)} {_show(dots[0][1])}")
            parts.extend(f"L{_show(x)} {_show(y)}" for x, y in dots)
            parts.append(f"H{_show(dots[-1][0] + half)}")
    return "".join(parts)


def _marks(traffic: Traffic, releases: Sequence[ChartRelease]) -> Iterator[ChartMark]:
    for release in releases:
        if traffic.since <= release.at < traffic.until:
            share = (release.at - traffic.since) / (traffic.until - traffic.since)
            title = f"{_show_time(traffic, release.at)}: {release.name} went live"
            yield ChartMark(_show(WIDTH * share), title)


def _ends(traffic: Traffic) -> tuple[str, str]:
    return _show_time(traffic, traffic.since), _show_time(traffic, traffic.until)


def _show_time(traffic: Traffic, seconds: float) -> str:
    is_long = traffic.until - traffic.since > 2 * _DAY
    return f"{datetime.fromtimestamp(seconds, UTC):{'%m-%d %H:%M' if is_long else '%H:%M'}}"


def _show_step(seconds: int) -> str:
    if seconds >= 3_600:
        return "an hour" if seconds == 3_600 else f"{seconds // 3_600} hours"
    return "a minute" if seconds == 60 else f"{seconds // 60} minutes"


def _show(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _count(point: TrafficPoint) -> float:
    return point.count


def _failures(point: TrafficPoint) -> float:
    return point.failures


def _p50(point: TrafficPoint) -> float | None:
    return point.p50


def _p95(point: TrafficPoint) -> float | None:
    return point.p95


def _p99(point: TrafficPoint) -> float | None:
    return point.p99
