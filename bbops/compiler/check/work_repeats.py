"""Work that may run twice, or beside work of the same key: warnings."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.base.names import title_of
from bbops.compiler.check._surroundings import ResolvedProject
from bbops.language.project import Resource
from bbops.language.resources.function import Function
from bbops.language.resources.trigger import Trigger
from bbops.language.steps.enqueue import Enqueue


def check(project: ResolvedProject) -> Iterator[Diagnostic]:
    """Yield webhooks whose repeated deliveries run again, and `unique` jobs in parallel lanes."""
    for trigger in project.triggers.values():
        yield from _unnamed(trigger)
    for function in project.functions.values():
        for step in function.model.every_step:
            if isinstance(step, Enqueue) and step.enqueue.unique is not None:
                yield from _in_parallel(project, function, step)


def _unnamed(trigger: Resource[Trigger]) -> Iterator[Diagnostic]:
    webhook = trigger.model.webhook
    if webhook is not None and webhook.signature.scheme == "hmac" and webhook.id is None:
        yield Diagnostic(
            trigger.place("webhook", "path"), "unnamed-delivery",
            "a delivery that its service sends twice runs twice, unless it has the header"
            " 'webhook-id'",
            "name what identifies it in the body, such as 'id: data.id'", severity="warning",
        )  # fmt: skip


def _in_parallel(
    project: ResolvedProject, function: Resource[Function], step: Enqueue
) -> Iterator[Diagnostic]:
    known = project.functions.get(str(step.enqueue.function))
    job = known.model.job if known is not None else None
    if known is not None and job is not None and job.lane is not None and job.lane.limit > 1:
        yield Diagnostic(
            function.at(step.place("unique")), "unique-in-parallel",
            f"{title_of(known.name)} runs {job.lane.limit} jobs of a lane at a time, so a new job"
            " may run beside the one of the same 'unique' that has begun",
            "leave out the 'lane' of its 'job', or its 'limit'", severity="warning",
        )  # fmt: skip
