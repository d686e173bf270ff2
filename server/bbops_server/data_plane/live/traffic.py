"""Read counts and percentiles from the minutes and hours of a request history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops.base.json_traffic import EndpointRanking, EndpointTraffic, Traffic, TrafficPoint
from bbops_server.data_plane.live.history import connect
from bbops_server.data_plane.live.minutes import (
    BUCKETS,
    HOUR,
    KEEP_HOURS_DAYS,
    KEEP_MINUTES_DAYS,
    MINUTE,
    STEP_FAILED,
    add,
    percentile,
)

MAX_POINTS: Final = 300
_USUAL_POINTS: Final = 120
_DAY: Final = 86_400
LONG_SECONDS: Final = 2 * _DAY
"""Longer periods are read from hours: over 14 days that is 60 times fewer rows."""
STEPS: Final = (
    60, 120, 300, 600, 900, 1_800, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, _DAY, 2 * _DAY,
    7 * _DAY,
)  # fmt: skip
"""Steps of a series, in seconds; each divides a day or is a number of days."""
RANKED_SECONDS: Final = 6 * HOUR
"""Rankings of longer periods are read from hours: they have no steps that need minutes."""
_LEAST_FAILED: Final = 5
"""The least status class of failures: 5xx, and those with STEP_FAILED."""
_COUNTS: Final = ("count", *(f"h{number}" for number in range(BUCKETS)))
_SUMS: Final = ", ".join(
    [*(f"sum({name}) AS {name}" for name in _COUNTS), "max(slowest) AS slowest"]
)
# The inner query follows the primary key, so only its few rows are sorted: half the time.
_SERIES: Final = (
    f"SELECT at / :step * :step, class, {_SUMS} FROM (SELECT at, class, {_SUMS} FROM {{}}"
    " WHERE at >= :since AND at < :until GROUP BY at, class) GROUP BY 1, 2"
)
_ENDPOINT_SERIES: Final = (
    f"SELECT at / :step * :step, class, {_SUMS} FROM {{}}"
    " WHERE at >= :since AND at < :until AND route = :endpoint GROUP BY 1, 2"
)
_RANKING: Final = (
    f"SELECT route, class, {_SUMS} FROM {{}} WHERE at >= :since AND at < :until GROUP BY 1, 2"
)


@dataclass(frozen=True, slots=True)
class Period:
    """A period of time, in seconds since 1970, and the table that is read for it.

    Attributes:
        unit: the seconds of a row of the table, with which the period begins.
    """

    since: int
    until: int
    unit: int

    @classmethod
    def read(
        cls, since: float | None, until: float | None, *, long_seconds: int = LONG_SECONDS
    ) -> Period:
        """Return a period, by default the last hour.

        Args:
            since: its start.
            until: its end, by default now.
            long_seconds: longer periods are read from hours, as are those before the minutes.

        Raises:
            ServerError: it ends before it begins.
        """
        end = now() if until is None else until
        begin = end - HOUR if since is None else since
        if begin >= end:
            hint = "leave 'until' out to end the period now"
            raise ServerError("the period is empty: 'since' is not before 'until'", hint=hint)
        oldest = now() - KEEP_HOURS_DAYS * _DAY
        begin, end = max(begin, oldest), max(min(end, now() + HOUR), oldest + HOUR)
        is_long = end - begin > long_seconds + MINUTE
        is_old = begin < now() - KEEP_MINUTES_DAYS * _DAY
        unit = HOUR if is_long or is_old else MINUTE
        return cls(int(min(begin, end)) // unit * unit, int(end) + 1, unit)

    @property
    def table(self) -> str:
        """The table with rows of that length."""
        return "minutes" if self.unit == MINUTE else "hours"


def read_traffic(
    history: Path, period: Period, *, endpoint: str | None = None, step_seconds: int = 0
) -> Traffic:
    """Return the requests of a period over time.

    Args:
        history: the file of the history.
        period: the time to read.
        endpoint: only this endpoint; None for all requests.
        step_seconds: the length of a step; 0 for a length that makes about 100 points.

    Raises:
        ServerError: the step makes more than MAX_POINTS.
    """
    step = _choose_step(period, step_seconds)
    start = period.since // step * step
    sql = _SERIES if endpoint is None else _ENDPOINT_SERIES
    values = {"step": step, "since": start, "until": period.until, "endpoint": endpoint}
    groups = _group(history, sql.format(period.table), values)
    points = [_point(at, groups.get(at, {})) for at in range(start, period.until, step)]
    return Traffic(
        start, points[-1].at + step, step, endpoint or "", points, _total(start, groups)
    )  # fmt: skip


def rank_endpoints(history: Path, period: Period, *, limit: int = 20) -> EndpointRanking:
    """Return the endpoints of a period: the slowest ones, and those that failed most."""
    values = {"since": period.since, "until": period.until}
    groups = _group(history, _RANKING.format(period.table), values)
    endpoints = [EndpointTraffic(name, _point(period.since, rows)) for name, rows in groups.items()]
    slowest = sorted(endpoints, key=lambda each: (-(each.total.p95 or 0.0), each.endpoint))
    failing = sorted(endpoints, key=lambda each: (-each.total.failures, each.endpoint))
    return EndpointRanking(
        period.since, period.until, slowest[:limit],
        [each for each in failing if each.total.failures][:limit],
    )  # fmt: skip


def now() -> float:
    """Return the time of the server's clock, in seconds since 1970."""
    return datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock


def _choose_step(period: Period, step_seconds: int) -> int:
    seconds, unit = period.until - period.since, period.unit
    if not step_seconds:
        usual = (step for step in STEPS if step >= unit and seconds <= step * _USUAL_POINTS)
        return next(usual, STEPS[-1])
    step = max(-(-step_seconds // unit) * unit, unit)
    if seconds > step * MAX_POINTS:
        least = -(-seconds // (MAX_POINTS * unit)) * unit
        raise ServerError(
            f"a step of {step} s makes more than {MAX_POINTS} points of this period",
            hint=f"use 'step={least}' or more, or a shorter period",
        )
    return step


def _group(
    history: Path, sql: str, values: Mapping[str, Any]
) -> dict[Any, dict[int, Sequence[Any]]]:
    """Return for each value of the first column its rows by status class."""
    groups: dict[Any, dict[int, Sequence[Any]]] = {}
    with closing(connect(history)) as connection:
        for key, kind, *row in connection.execute(sql, values):
            groups.setdefault(key, {})[kind] = row
    return groups


def _total(at: int, groups: Mapping[Any, Mapping[int, Sequence[Any]]]) -> TrafficPoint:
    total: dict[int, Sequence[Any]] = {}
    for rows in groups.values():
        for kind, row in rows.items():
            total[kind] = add(total[kind], row) if kind in total else row
    return _point(at, total)


def _point(at: int, rows: Mapping[int, Sequence[Any]]) -> TrafficPoint:
    if not rows:
        return TrafficPoint(at, 0, {})
    classes: dict[str, int] = {}
    for kind, row in sorted(rows.items(), key=lambda item: item[0] % STEP_FAILED):
        name = f"{kind % STEP_FAILED}xx"
        classes[name] = classes.get(name, 0) + int(row[0])
    failures = sum(int(row[0]) for kind, row in rows.items() if kind >= _LEAST_FAILED)
    whole: Sequence[Any] = [0] * (BUCKETS + 1) + [0.0]
    for row in rows.values():
        whole = add(whole, row)
    count, histogram, slowest = whole[0], whole[1:-1], whole[-1]
    found = (percentile(histogram, slowest, share) for share in (0.5, 0.95, 0.99))
    p50, p95, p99 = (None if each is None else round(each, 3) for each in found)
    return TrafficPoint(at, count, classes, p50, p95, p99, round(slowest, 3), failures)
