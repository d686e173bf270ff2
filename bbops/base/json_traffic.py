"""Counts, durations and refused requests, for pages, commands and programs.

Times are seconds since 1970. Percentiles are milliseconds, estimated from a histogram; null without
requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def summarize_refusal(refusal: Mapping[str, Any] | None) -> str:
    """Return code, message and fields at fault; empty without a refusal.

    Args:
        refusal: the `refusal` of a request in the history, see `bbops.runtime.http.errors`.
    """
    if not refusal:
        return ""
    fields = "; ".join(f"{name}: {', '.join(texts)}" for name, texts in refusal["fields"].items())
    message = f": {refusal['message']}" if refusal["message"] else ""
    return f"{refusal['code']}{message}" + (f" ({fields})" if fields else "")
