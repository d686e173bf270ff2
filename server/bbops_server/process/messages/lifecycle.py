"""Start, stop and state of a process."""

from __future__ import annotations

import msgspec

from bbops_server.process.messages.request import AnswerMessage, DoneAnswer, RequestMessage


class Ping(RequestMessage[DoneAnswer], frozen=True):
    """Check that a process responds."""


class Stop(RequestMessage[DoneAnswer], frozen=True):
    """Stop a process gracefully."""

    grace_seconds: float
    """The time that running requests have to finish."""


class Listen(RequestMessage[DoneAnswer], frozen=True):
    """Start to accept connections."""


class Leave(RequestMessage[DoneAnswer], frozen=True):
    """Stop to accept connections, and wait until the open ones have ended."""

    seconds: float
    """The time that open connections have to end."""


class ProcessStatus(AnswerMessage, frozen=True):
    """The state of a data process, or of a draft's process.

    Attributes:
        pid: the process.
        in_flight: the number of running requests.
        release: the name of the live release; None if there is not exactly one.
    """

    pid: int
    in_flight: int
    release: str | None = None


class ReadStatus(RequestMessage[ProcessStatus], frozen=True):
    """Read the state of a process."""


class MetricSample(msgspec.Struct, frozen=True):
    """A sample of a Prometheus metric.

    Attributes:
        name: a metric of `control_plane.projects.metrics`; for a histogram with `_bucket`,
            `_sum` or `_count`.
        labels: without the label of the project.
        project: its name in data processes.
    """

    name: str
    labels: dict[str, str]
    value: float
    project: str = ""


class Metrics(AnswerMessage, frozen=True):
    """Counters since the process started, and current gauges."""

    samples: list[MetricSample]


class ReadMetrics(RequestMessage[Metrics], frozen=True):
    """Read the metrics of a process."""
