"""The server's metrics, as Prometheus reads them."""

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
    "jobs": ("gauge", "Jobs that have not ended, by what they run and their state."),
    "job_seconds": ("histogram", "How long attempts of jobs took."),
    "job_wait_seconds": (
        "histogram", "How long jobs that were made, or due, waited for their first attempt.",
    ),
    "outbox_oldest_seconds": ("gauge", "How long the oldest event waits to become jobs."),
    "snapshot_age_seconds": (
        "gauge", "The age of the oldest transaction that keeps old rows of the queue.",
    ),
    "ticks_missed_total": ("counter", "Runs of tasks that were left out; no server ran then."),
    "deliveries_total": (
        "counter", "Attempts to send webhooks, and received ones that were refused, by outcome.",
    ),
    "realtime_connections": ("gauge", "Clients that are connected to topics."),
    "realtime_dropped_total": ("counter", "Clients that were closed because they read too slowly."),
}  # fmt: skip
"""Each metric, without `bbops_`, and what it means."""

_SUFFIXES: Final = ("_bucket", "_sum", "_count")
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@read("/metrics", Permission.READ_METRICS)
async def show_metrics(visit: Here) -> Response[str]:
    """What the server has counted and measures now, in the text format of Prometheus."""
    status = visit.control.status
    try:
        measured = await status.metrics()
    except BbopsError as error:
        raise refuse(error) from None
    own = [MetricSample("build_info", {"version": bbops.__version__}, 1)]
    ready = [MetricSample("project_ready", {}, one.is_ready, one.name) for one in status.projects()]
    return Response(render_metrics([*own, *ready, *measured]), media_type=MEDIA_TYPE)


def render_metrics(samples: Iterable[MetricSample]) -> str:
    """Return samples as Prometheus reads them, each metric with its help and type."""
    return "".join(f"{line}\n" for line in _lines(samples))


def _lines(samples: Iterable[MetricSample]) -> Iterator[str]:
    ranks = {name: at for at, name in enumerate(METRICS)}
    ordered = sorted(samples, key=lambda one: ranks[_metric(one.name)])  # keeps buckets in order
    for metric, found in groupby(ordered, key=lambda one: _metric(one.name)):
        kind, text = METRICS[metric]
        yield f"# HELP bbops_{metric} {text}"
        yield f"# TYPE bbops_{metric} {kind}"
        yield from map(_line, found)


def _metric(name: str) -> str:
    """Return the metric that a sample is of."""
    if name in METRICS:
        return name
    return next(name.removesuffix(end) for end in _SUFFIXES if name.endswith(end))


def _line(one: MetricSample) -> str:
    project = {"project": one.project} if one.project else {}
    labels = ",".join(
        f'{name}="{value.translate(_ESCAPES)}"' for name, value in {**project, **one.labels}.items()
    )
    return f"bbops_{one.name}{{{labels}}} {one.value:.17g}"


ROUTES = (show_metrics,)
