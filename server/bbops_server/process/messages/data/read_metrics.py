"""Ask a process what it has counted and measured."""

from __future__ import annotations

import msgspec

from bbops_server.process.messages.request import Answer, Request


class Sample(msgspec.Struct, frozen=True):
    """One value of a metric, as Prometheus has it.

    Attributes:
        name: as `control_plane.projects.metrics` describes it; of a histogram with `_bucket`,
            `_sum` or `_count`.
        labels: without the project's.
        project: as processes call it.
    """

    name: str
    labels: dict[str, str]
    value: float
    project: str = ""


class Metrics(Answer, frozen=True):
    """What a process has counted since it started, and measures now."""

    samples: list[Sample]


class ReadMetrics(Request[Metrics], frozen=True):
    """Ask a process what it has counted and measured."""
