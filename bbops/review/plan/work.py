"""Say what becomes of jobs: which finish on old code, which are held, and when tasks run next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from bbops.base.diagnostics import Place
from bbops.compiler.check import CheckedProject
from bbops.compiler.compile.row_events import find_row_events
from bbops.compiler.compile.work import find_works, read_code
from bbops.database.sqlite.trial import Trial
from bbops.database.sqlite.violations import compile_error
from bbops.language.project import Resource
from bbops.language.resources.task import Task
from bbops.language.sql.sqlite import SQLITE
from bbops.review.plan.codes import CODES
from bbops.review.plan.pairs import Pairs
from bbops.runtime.values.durations import seconds
from bbops.runtime.work.schedules import Schedule
from bbops.runtime.work.values import format_time

STRANDED: Final = "jobs-stranded"
COST: Final = "trigger-cost"
REFUSED: Final = "trigger-refused"
_TICKS: Final = 3


@dataclass(frozen=True, slots=True)
class WorkChange:
    """What a change does to the jobs of one trigger, task or function.

    Attributes:
        code: as docs/plans.md explains it.
        work: its name, for example `triggers/order-paid`.
        message: what is the matter, without the name.
        begun: jobs that have begun and not ended; null where nobody has looked.
        waiting: jobs that have not begun; null where nobody has looked.
        ticks: when a task runs next, in UTC; empty where nobody said what time it is.
        table: the table of the SQL trigger; empty for other changes.
        file: in the new project, or in the old one where the new one has nothing to show.
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
        """Whether it would concern jobs, and somebody has looked: there are none."""
        return self.code == STRANDED and self.begun == 0


JobCounts = Mapping[str, tuple[int, int]]
"""By the name of a work: jobs that have begun, and jobs that wait."""


def find_work(pairs: Pairs, now: int | None = None) -> tuple[WorkChange, ...]:
    """Return what becomes of jobs.

    Args:
        now: the time in milliseconds since 1970, to say when tasks run next.
    """
    found = [*_of_works(pairs), *_of_tasks(pairs, now), *_of_tables(pairs)]
    rank = {code: number for number, code in enumerate(CODES)}
    return tuple(sorted(found, key=lambda one: (rank[one.code], one.work)))


def count_jobs(found: Iterable[WorkChange], counts: JobCounts) -> tuple[WorkChange, ...]:
    """Return the changes with the numbers of jobs that there are."""
    none = 0, 0
    return tuple(
        replace(one, begun=counts.get(one.work, none)[0], waiting=counts.get(one.work, none)[1])
        for one in found
    )


def refuse_triggers(
    found: Iterable[WorkChange], refused: Mapping[str, str]
) -> tuple[WorkChange, ...]:
    """Return the changes, with those whose SQL trigger the database does not allow.

    Args:
        found: the changes.
        refused: tables on which no SQL trigger can be created, with the statement that allows it.
    """
    changes = tuple(found)
    return changes + tuple(
        replace(
            one, code=REFUSED, cure=f"as the owner of the table: {refused[one.table]}",
            message=f"the database role may not create an SQL trigger on table '{one.table}'",
        ) for one in changes if one.code == COST and one.table in refused
    )  # fmt: skip


# ---- code
def _of_works(pairs: Pairs) -> Iterator[WorkChange]:
    base, head = find_works(pairs.base), find_works(pairs.head)
    renamed = {old: one for one in head.values() if (old := _old_name(one))}
    for name, one in base.items():
        new = head.get(name) or renamed.get(name)
        if new is None:
            message = "was removed: jobs that have begun finish, the others are held"
            yield _change("work-removed", name, message, Place(one.file))
        elif _is_same(pairs, _function(one), _function(new)):
            continue
        else:
            file = pairs.head.functions[_function(new)].file
            message = "runs other code: jobs that have begun finish on the old code"
            yield _change("work-changed", name, message, Place(file))
        yield from _stranded(pairs, name, _function(one))


def _old_name(of: Resource[Any]) -> str:
    """Return the name that a trigger or task says it had; empty without one."""
    old = getattr(of.model, "renamed_from", None)
    return f"{of.kind}s/{old}" if old else ""


def _function(of: Resource[Any]) -> str:
    return of.name if of.kind == "function" else str(of.model.function)


def _is_same(pairs: Pairs, old: str, new: str) -> bool:
    """Return whether jobs run the same code; compiled only where files differ."""
    if _files(pairs.base, old) == _files(pairs.head, new) and not _differs(pairs):
        return True
    before, after = read_code(pairs.base, old, SQLITE), read_code(pairs.head, new, SQLITE)
    return before.digest == after.digest


def _files(project: CheckedProject, function: str) -> set[tuple[str, str]]:
    """Return the files that a function is made of, with their content."""
    found, wanted = set[tuple[str, str]](), [function]
    while wanted:
        one = project.functions[wanted.pop()]
        if (one.file, one.blob) not in found:
            found.add((one.file, one.blob))
            wanted += project.callees.get(one.name, ())
    return found


def _differs(pairs: Pairs) -> bool:
    """Return whether something differs that code is compiled from beside functions."""
    tables = [{one.file: one.blob for one in side.tables.values()} for side in _sides(pairs)]
    settings = [side.settings.blob for side in _sides(pairs)]
    return tables[0] != tables[1] or settings[0] != settings[1]


def _sides(pairs: Pairs) -> tuple[CheckedProject, CheckedProject]:
    return pairs.base, pairs.head


def _stranded(pairs: Pairs, name: str, function: str) -> Iterator[WorkChange]:
    """Yield what keeps old code from running on the new tables."""
    statements = read_code(pairs.base, function, SQLITE).statements
    before, after = pairs.base.stored_tables, pairs.head.stored_tables
    with closing(Trial(before)) as old, closing(Trial(after)) as new:
        for sql in statements:
            why = compile_error(new.connection, sql)
            if why and not compile_error(old.connection, sql):
                message = f"jobs that have begun cannot finish, and are held: {why}"
                place = Place(pairs.base.functions[function].file)
                yield _change(STRANDED, name, message, place)
                return


# ---- schedules
def _of_tasks(pairs: Pairs, now: int | None) -> Iterator[WorkChange]:
    for old, new in pairs.both("tasks"):
        before, after = _schedule(old.model), _schedule(new.model)
        if old.name == new.name and old.model.enabled and new.model.enabled and before != after:
            message = f"ran {before}, and runs {after}, counted from its publication"
            place = new.place("every" if new.model.every else "schedule")
            found = _change("schedule-changed", f"tasks/{new.name}", message, place)
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
    """Yield what waits for changed rows of a table: triggers, then topics, each with its place."""
    for trigger in project.triggers.values():
        if trigger.model.database is not None and trigger.model.database.table == table:
            yield f"triggers/{trigger.name}", trigger.place("database")
    for topic in project.realtime.values():
        if topic.model.rows is not None and topic.model.rows.table == table:
            yield f"realtime/{topic.name}", topic.place("rows")


def _change(code: str, work: str, message: str, place: Place) -> WorkChange:
    return WorkChange(
        code, work, message, None, None, (), place.file, place.line, CODES[code].cure
    )  # fmt: skip
