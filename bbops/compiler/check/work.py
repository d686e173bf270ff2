"""Work that may never end, run twice or overlap, and events that may be lost: warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bbops.base.diagnostics import Diagnostic
from bbops.base.names import title_of
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._surroundings import ResolvedProject
from bbops.compiler.check._ways import called
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.resources.trigger import Trigger
from bbops.language.steps._base import Step, every_step
from bbops.language.steps.delete import Delete
from bbops.language.steps.emit import Emit
from bbops.language.steps.enqueue import Enqueue
from bbops.language.steps.insert import Insert
from bbops.language.steps.transaction import Transaction
from bbops.language.steps.update import Update


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield warnings for jobs and events."""
    yield from _check_work_doubts(project)
    yield from _check_work_repeats(project)


def _check_work_doubts(project: ResolvedProject) -> Iterator[Diagnostic]:
    """Yield triggers that start themselves, and events apart from the change that they tell of."""
    for trigger in project.triggers.values():
        yield from _feeds_itself(project, trigger)
    for function in project.functions.values():
        if any(not way.is_job for way in project.ways_to(function.name)):
            yield from _apart(function, function.model.steps)


def _feeds_itself(project: Project, trigger: Resource[Trigger]) -> Iterator[Diagnostic]:
    """A condition may well end it, so nothing is said of a trigger that has one."""
    rows, events = trigger.model.database, trigger.model.event or ()
    path: tuple[str, ...]
    if trigger.model.where is not None or (rows is not None and rows.where is not None):
        return
    for name in called(project, [trigger.model.function]):
        for step in project.functions[name].model.every_step:
            changes = _change(step)
            if rows is not None and changes in {(rows.table, one) for one in rows.operation}:
                what, path = f"{changes[1]}s rows of '{rows.table}'", ("database", "table")
            elif isinstance(step, Emit) and step.emit.event in events:
                what, path = f"emits '{step.emit.event}'", ("event",)
            else:
                continue
            yield Diagnostic(
                trigger.place(*path), "feeds-itself",
                f"{title_of(name)} {what}, which runs this trigger again",
                "add a 'where' that is false then; after 16 jobs in a row the next one is held",
                severity="warning",
            )  # fmt: skip
            return


def _change(step: Step) -> tuple[str, str]:
    match step:
        case Insert():
            return str(step.insert.table), "insert"
        case Update():
            return str(step.update.table), "update"
        case Delete():
            return str(step.delete.table), "delete"
    return "", ""


def _apart(
    function: Resource[Function], steps: Sequence[Step], *, has_written: bool = False
) -> Iterator[Diagnostic]:
    """Yield what emits or enqueues behind a change, outside of its transaction."""
    for step in steps:
        if has_written and isinstance(step, Emit | Enqueue):
            yield Diagnostic(
                function.at(step.mark), "emit-apart",
                f"if the process ends before this '{step.key}', the change before it has happened"
                f" and the {'event' if isinstance(step, Emit) else 'job'} has not",
                "put both into one 'transaction'", severity="warning",
            )  # fmt: skip
        if isinstance(step, Transaction):
            has_written = True
            continue
        for block in step.blocks():
            yield from _apart(function, block, has_written=has_written)
        has_written = has_written or any(_change(one)[0] for one in every_step([step]))


def _check_work_repeats(project: ResolvedProject) -> Iterator[Diagnostic]:
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
