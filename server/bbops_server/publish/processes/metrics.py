"""What the processes of a server have counted, added up."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from bbops_server.process.messages.lifecycle import MetricSample, ReadMetrics
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.processes.requests import ask_all

SECONDS: Final = 5.0
"""How long a process may take to answer."""


async def read_metrics(plane: Plane) -> list[MetricSample]:
    """Return what all processes have counted; equal series are added up.

    Raises:
        BbopsError: a process does not answer.
    """
    answers = await ask_all(ask(ReadMetrics(), timeout_seconds=SECONDS) for ask in plane.askings)
    found = defaultdict[tuple[str, str, tuple[tuple[str, str], ...]], float](float)
    for answer in answers:
        for one in answer.samples:
            found[one.name, one.project, tuple(one.labels.items())] += one.value
    return [MetricSample(name, dict(labels), value, project)
            for (name, project, labels), value in found.items()]  # fmt: skip
