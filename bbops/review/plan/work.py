"""Find the effects on jobs: which finish on old code, which are held, and when tasks run next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from bbops.base.diagnostics import Place
from bbops.compiler.check import CheckedProject
from bbops.compiler.compile.agents import agent_tasks, agent_triggers
from bbops.compiler.compile.row_events import find_row_events
from bbops.compiler.compile.work import find_works, functions_of, read_code
from bbops.database.sqlite.trial import TrialDatabase
from bbops.database.sqlite.violations import compile_error
from bbops.language.project import Resource
from bbops.language.resources.task import Task
from bbops.language.sql.sqlite import SQLITE
from bbops.review.plan.changes import Pairs
from bbops.review.plan.codes import CODES
from bbops.runtime.agents.values import work_name
from bbops.runtime.values.units import seconds
from bbops.runtime.work.schedules import Schedule
from bbops.runtime.work.values import format_time

STRANDED: Final = "jobs-stranded"
COST: Final = "trigger-cost"
REFUSED: Final = "trigger-refused"
_TICKS: Final = 3


@dataclass(frozen=True, slots=True)
class WorkChange:
    """The effect of a change on the jobs of one trigger, task or function.

    Attributes:
        code: a code of docs/plans.md.
        work: its name, for example `triggers/order-paid`.
        message: the description of the effect, without the name.
        begun: jobs that have begun and not ended; null if they were not counted.
        waiting: jobs that have not begun; null if they were not counted.
        ticks: the next runs of a task, in UTC; empty if the time was not given.
        table: the table of the SQL trigger; empty for other changes.
        file: the file in the new project, or in the old one if the new one has none.
    """

    code: str
    work: str
    message: str
    begun: int | None
    waiting: int | None
    ticks: tuple[str, ...]
    file: str
    line: int
    cure: str
    table: str = ""

    @property
    def is_moot(self) -> bool:
        """Whether it concerns jobs, and a count has found none."""
        return self.code == STRANDED and self.begun == 0


JobCounts = Mapping[str, tuple[int, int]]
"""By the name of a work: started jobs, and waiting jobs."""


def find_work(pairs: Pairs, now: int | None = None) -> tuple[WorkChange, ...]:
    """Return the effects on jobs.

    Args:
        now: the time in milliseconds since 1970, for the next runs of tasks.
    """
    found = [*_of_works(pairs), *_of_tasks(pairs, now), *_of_tables(pairs)]
    rank = {code: number for number, code in enumerate(CODES)}
    return tuple(sorted(found, key=lambda change: (rank[change.code], change.work)))


def count_jobs(found: Iterable[WorkChange], counts: JobCounts) -> tuple[WorkChange, ...]:
    """Return the changes with the current numbers of jobs."""
    none = 0, 0
    return tuple(
        replace(
            change, begun=counts.get(change.work, none)[0], waiting=counts.get(change.work, none)[1]
        )
        for change in found
    )


def refuse_triggers(
    found: Iterable[WorkChange], refused: Mapping[str, str]
) -> tuple[WorkChange, ...]:
    """Return the changes, with the SQL triggers that the database does not allow.

    Args:
        found: the changes.
        refused: tables on which no SQL trigger can be created, with the statement that allows it.
    """
    changes = tuple(found)
    return changes + tuple(
        replace(
            change, code=REFUSED, cure=f"as the owner of the table: {refused[change.table]}",
            message=f"the database role may not create an SQL trigger on table '{change.table}'",
        ) for change in changes if change.code == COST and change.table in refused
    )  # fmt: skip


# ---- code
def _of_works(pairs: Pairs) -> Iterator[WorkChange]:
    base, head = find_works(pairs.base), find_works(pairs.head)
    renamed = {
        old: resource for name, resource in head.items() if (old := _old_name(name, resource))
    }  # fmt: skip
    for name, resource in base.items():
        new = head.get(name) or renamed.get(name)
        if new is None:
            message = "was removed: jobs that have begun finish, the others are held"
            yield _change("work-removed", name, message, Place(resource.file))
        elif _is_same(pairs, resource, new):
            continue
        else:
            file = new.file
            if new.kind != "agent":
                file = pairs.head.functions[functions_of(new)[0]].file
            message = "runs other code: jobs that have begun finish on the old code"
            yield _change("work-changed", name, message, Place(file))
        yield from _stranded(pairs, name, resource)


def _old_name(name: str, of: Resource[Any]) -> str:
    """Return the old name of a work whose file declares one; empty without one."""
    old = getattr(of.model, "renamed_from", None)
    if not old:
        return ""
    return work_name(old, name.rpartition("/")[2]) if of.kind == "agent" else f"{of.kind}s/{old}"


def _is_same(pairs: Pairs, old: Resource[Any], new: Resource[Any]) -> bool:
    """Return whether jobs run the same code; compiled only if files differ."""
    if _files(pairs.base, old) == _files(pairs.head, new) and not _differs(pairs):
        return True
    before, after = read_code(pairs.base, old, SQLITE), read_code(pairs.head, new, SQLITE)
    return before.digest == after.digest


def _files(project: CheckedProject, work: Resource[Any]) -> set[tuple[str, str]]:
    """Return the files of a work's code, with their content."""
    found, wanted = set[tuple[str, str]](), [*functions_of(work)]
    if work.kind == "agent":
        found.add((work.file, work.blob))
    while wanted:
        one = project.functions[wanted.pop()]
        if (one.file, one.blob) not in found:
            found.add((one.file, one.blob))
            wanted += project.callees.get(one.name, ())
    return found


def _differs(pairs: Pairs) -> bool:
    """Return whether compiled code differs in anything but functions."""
    tables = [{table.file: table.blob for table in side.tables.values()} for side in _sides(pairs)]
    settings = [side.settings.blob for side in _sides(pairs)]
    return tables[0] != tables[1] or settings[0] != settings[1]


def _sides(pairs: Pairs) -> tuple[CheckedProject, CheckedProject]:
    return pairs.base, pairs.head


def _stranded(pairs: Pairs, name: str, work: Resource[Any]) -> Iterator[WorkChange]:
    """Yield the reasons that prevent old code from running on the new tables."""
    statements = read_code(pairs.base, work, SQLITE).statements
    before, after = pairs.base.stored_tables, pairs.head.stored_tables
    with closing(TrialDatabase(before)) as old, closing(TrialDatabase(after)) as new:
        for sql in statements:
            why = compile_error(new.connection, sql)
            if why and not compile_error(old.connection, sql):
                message = f"jobs that have begun cannot finish, and are held: {why}"
                file = work.file
                if work.kind != "agent":
                    file = pairs.base.functions[functions_of(work)[0]].file
                yield _change(STRANDED, name, message, Place(file))
                return


# ---- schedules
def _of_tasks(pairs: Pairs, now: int | None) -> Iterator[WorkChange]:
    for old, new in pairs.both("tasks"):
        if old.name == new.name and old.model.enabled and new.model.enabled:
            place = new.place("every" if new.model.every else "schedule")
            yield from _of_schedule(f"tasks/{new.name}", old.model, new.model, place, now)
    base, head = ({task.name: task for task in agent_tasks(side)} for side in _sides(pairs))
    for name in sorted(base.keys() & head.keys()):
        place = head[name].place("runsOn", "schedule")
        yield from _of_schedule(name, base[name].model, head[name].model, place, now)


def _of_schedule(
    work: str, old: Task, new: Task, place: Place, now: int | None
) -> Iterator[WorkChange]:
    before, after = _schedule(old), _schedule(new)
    if before != after:
        message = f"ran {before}, and runs {after}, counted from its publication"
        found = _change("schedule-changed", work, message, place)
        yield replace(found, ticks=tuple(_ticks(after, now)) if now is not None else ())


def _schedule(task: Task) -> Schedule:
    every = timedelta(seconds=seconds(task.every)) if task.every else timedelta()
    return Schedule(task.schedule or "", task.timezone, every // timedelta(milliseconds=1))


def _ticks(schedule: Schedule, now: int) -> Iterator[str]:
    for _ in range(_TICKS):
        now = schedule.after(now)
        yield format_time(now)


# ---- changed rows
def _of_tables(pairs: Pairs) -> Iterator[WorkChange]:
    """Yield the first triggers of tables: from then on each change of a row costs more."""
    before = {pairs.new_name("tables", name) for name in find_row_events(pairs.base)}
    for table in sorted(find_row_events(pairs.head).keys() - before):
        work, place = next(_listeners(pairs.head, table))
        message = (
            f"table '{table}' gets its first SQL trigger: each change of a row writes an event"
        )
        yield replace(_change(COST, work, message, place), table=table)


def _listeners(project: CheckedProject, table: str) -> Iterator[tuple[str, Place]]:
    """Yield the subscribers to a table's changed rows, with their places."""
    for trigger in project.triggers.values():
        if trigger.model.database is not None and trigger.model.database.table == table:
            yield f"triggers/{trigger.name}", trigger.place("database")
    for start in agent_triggers(project):
        if start.model.database is not None and start.model.database.table == table:
            yield start.name, start.place("runsOn", "database")
    for topic in project.realtime.values():
        if topic.model.rows is not None and topic.model.rows.table == table:
            yield f"realtime/{topic.name}", topic.place("rows")


def _change(code: str, work: str, message: str, place: Place) -> WorkChange:
    return WorkChange(
        code, work, message, None, None, (), place.file, place.line, CODES[code].cure
    )  # fmt: skip
