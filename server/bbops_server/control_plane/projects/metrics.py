"""The server's metrics, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, Literal

from litestar import Response

import bbops
from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import read
from bbops_server.control_plane.web.visit import Here
from bbops_server.process.messages.lifecycle import MetricSample

MEDIA_TYPE: Final = "text/plain; version=0.0.4"
Kind = Literal["counter", "gauge", "histogram"]

METRICS: Final[dict[str, tuple[Kind, str]]] = {
    "build_info": ("gauge", "The version of the server; always 1."),
    "project_ready": ("gauge", "Whether the newest commit of a project is live."),
    "jobs": ("gauge", "Jobs that have not ended, by trigger, task or function, and by state."),
    "job_seconds": ("histogram", "Duration of job attempts."),
    "job_wait_seconds": (
        "histogram", "Wait of jobs, from their creation or due time, for their first attempt.",
    ),
    "outbox_oldest_seconds": ("gauge", "How long the oldest event waits to become jobs."),
    "snapshot_age_seconds": (
        "gauge", "The age of the oldest transaction that keeps old versions of jobs.",
    ),
    "ticks_missed_total": ("counter", "Runs of tasks that were skipped because no server ran."),
    "deliveries_total": (
        "counter", "Attempts to send webhooks, and rejected received webhooks, by outcome.",
    ),
    "agent_tokens_total": ("counter", "Tokens that the models of agents have read and written."),
    "realtime_connections": ("gauge", "Clients that are connected to topics."),
    "realtime_dropped_total": ("counter", "Clients that were closed because they read too slowly."),
}  # fmt: skip
"""The type and help text of each metric, by its name without `bbops_`."""

_SUFFIXES: Final = ("_bucket", "_sum", "_count")
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@read("/metrics", Permission.READ_METRICS)
async def show_metrics(visit: Here) -> Response[str]:
    """The server's metrics, in the text format of Prometheus."""
    status = visit.control.status
    try:
        measured = await status.metrics()
    except BbopsError as error:
        raise refuse(error) from None
    own = [MetricSample("build_info", {"version": bbops.__version__}, 1)]
    ready = [
        MetricSample("project_ready", {}, project.is_ready, project.name)
        for project in status.projects()
    ]
    return Response(render_metrics([*own, *ready, *measured]), media_type=MEDIA_TYPE)


def render_metrics(samples: Iterable[MetricSample]) -> str:
    """Return samples in the text format of Prometheus, each metric with its help and type."""
    return "".join(f"{line}\n" for line in _lines(samples))


def _lines(samples: Iterable[MetricSample]) -> Iterator[str]:
    ranks = {name: rank for rank, name in enumerate(METRICS)}
    ordered = sorted(samples, key=lambda sample: ranks[_metric(sample.name)])  # stable sort
    for metric, group in groupby(ordered, key=lambda sample: _metric(sample.name)):
        kind, text = METRICS[metric]
        yield f"# HELP bbops_{metric} {text}"
        yield f"# TYPE bbops_{metric} {kind}"
        yield from map(_line, group)


def _metric(name: str) -> str:
    """Return the metric of a sample's name, which may end in a suffix of histograms."""
    if name in METRICS:
        return name
    return next(name.removesuffix(end) for end in _SUFFIXES if name.endswith(end))


def _line(sample: MetricSample) -> str:
    labels = {"project": sample.project} if sample.project else {}
    text = ",".join(
        f'{name}="{value.translate(_ESCAPES)}"' for name, value in (labels | sample.labels).items()
    )
    return f"bbops_{sample.name}{{{text}}} {sample.value:.17g}"


ROUTES = (show_metrics,)
