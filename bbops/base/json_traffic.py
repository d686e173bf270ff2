"""Counts and durations of requests as JSON, in the same form for pages, commands and programs.

Times are seconds since 1970. Percentiles are milliseconds, estimated from a histogram; null without
requests.
"""

from __future__ import annotations

import msgspec


class TrafficPoint(msgspec.Struct, frozen=True):
    """The requests of one step of time, from `at` on.

    Attributes:
        classes: the count of each status class that occurred, such as `5xx`.
        slowest: the milliseconds of the slowest request.
        failures: responses 500 to 599, and others in which a step failed.
    """

    at: int
    count: int
    classes: dict[str, int]
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    slowest: float | None = None
    failures: int = 0


class Traffic(msgspec.Struct, frozen=True):
    """Requests over time: a point per step, also for steps without requests.

    `since` and `until` are the start of the first step and the end of the last one; `total` has the
    requests of all of them.
    """

    since: int
    until: int
    step_seconds: int
    endpoint: str
    points: list[TrafficPoint]
    total: TrafficPoint


class EndpointTraffic(msgspec.Struct, frozen=True):
    """The requests of one endpoint; its name is empty for requests that no endpoint answered."""

    endpoint: str
    total: TrafficPoint


class EndpointRanking(msgspec.Struct, frozen=True):
    """Endpoints by their 95th percentile, and those with failures by their number."""

    since: int
    until: int
    slowest: list[EndpointTraffic]
    failing: list[EndpointTraffic]
