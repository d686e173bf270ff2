"""The metrics of all processes, added up."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from bbops_server.process.messages.lifecycle import MetricSample, ReadMetrics
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.processes.requests import ask_all

SECONDS: Final = 5.0
"""The time that a process has to answer."""


async def read_metrics(plane: Plane) -> list[MetricSample]:
    """Return the metrics of all processes; equal series are added up.

    Raises:
        BbopsError: a process does not respond.
    """
    answers = await ask_all(ask(ReadMetrics(), timeout_seconds=SECONDS) for ask in plane.senders)
    sums = defaultdict[tuple[str, str, tuple[tuple[str, str], ...]], float](float)
    for answer in answers:
        for sample in answer.samples:
            sums[sample.name, sample.project, tuple(sample.labels.items())] += sample.value
    return [MetricSample(name, dict(labels), value, project)
            for (name, project, labels), value in sums.items()]  # fmt: skip
