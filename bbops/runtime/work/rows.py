"""Rows of the engine's tables, and changes of a project's rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.values import Cause, Claim, ProjectEvent, NewJob, Route

Operation = Literal["insert", "update", "delete"]
OPERATIONS: Final[tuple[Operation, ...]] = ("insert", "update", "delete")

_SEPARATOR: Final = ":"
"""Stands in no name of an event that somebody may emit."""

ROWS_PREFIX: Final = '{"trigger":'
"""How the payload of a job begins that holds rows."""


def row_event(table: str, operation: Operation) -> str:
    """Return the name under which a change is in the outbox."""
    return f"{table}{_SEPARATOR}{operation}"


def event_table(name: str) -> str:
    """Return the table that such an event is about."""
    return name.partition(_SEPARATOR)[0]


def is_row_event(name: str) -> bool:
    """Return whether an event is about a changed row."""
    return _SEPARATOR in name


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads rows out of what SQL triggers wrote.

    Attributes:
        decoders: of the columns that are wanted, what makes a value of one in JSON; None where
            it is one already.
    """

    decoders: Mapping[str, Callable[[Any], Any] | None]

    def __call__(self, payload: str) -> dict[str, Any]:
        """Return `trigger` as a function sees it, of a job's payload.

        Raises:
            FlowError: a column had another type when the row changed.
        """
        found = json.loads(payload)["trigger"]
        return {name: self._row(found.get(name)) for name in ("newRow", "oldRow")}

    def _row(self, parts: list[Mapping[str, Any]] | None) -> dict[str, Any] | None:
        if parts is None:
            return None
        found = {key: one for part in parts for key, one in part.items()}
        return {name: _decode(name, found.get(name), how) for name, how in self.decoders.items()}


def _decode(name: str, value: Any, how: Callable[[Any], Any] | None) -> Any:
    if how is None:
        return value
    try:
        return how(value)
    except (TypeError, ValueError, ArithmeticError):
        message = f"column '{name}' had another type when the row changed"
        raise FlowError(message) from None


def rows_payload(payload: str) -> str:
    """Return the payload of a job about rows, of what SQL triggers wrote."""
    return f"{ROWS_PREFIX}{payload}}}"


NO_COLUMNS: Final[Mapping[str, Container[str]]] = MappingProxyType({})
NO_ROWS: Final = "{}"
"""The payload of an event about rows that are not kept, or not any more."""


def find_batch_end(sizes: Iterable[Sequence[Any]], most_bytes: int) -> int | None:
    """Return the last row before too many bytes, at least the first one; None without any.

    Args:
        sizes: (id, bytes) of each.
        most_bytes: of all up to the last one.
    """
    last, left = None, most_bytes
    for number, size in sizes:
        left -= size
        if left < 0 and last is not None:
            break
        last = number
    return last


def read_claim(row: Sequence[Any]) -> Claim:
    """Return what a claim gave."""
    number, uid, work, payload, attempt, fence, lane, code, seq, cause, depth, due, created = row
    return Claim(
        number, uid, work, payload, attempt, fence, lane, code, seq, Cause(cause, depth),
        due_at=due, created_at=created,
    )  # fmt: skip


def read_event(row: Sequence[Any]) -> ProjectEvent:
    """Return an event of the outbox."""
    number, name, key, payload, at, cause, depth, _ = row
    return ProjectEvent(number, name, payload, at, key, Cause(cause, depth))


def route_rows(
    rows: Sequence[Sequence[Any]], newest: int, route: Route, arrange: Callable[[NewJob], NewJob]
) -> list[tuple[NewJob, int]]:
    """Return the jobs of rows of the outbox, each with its event's place in the log, 0 for none.

    Args:
        newest: the last place in the log that is taken.
    """
    found, place = dict[str, tuple[NewJob, int]](), newest
    for row in rows:
        if row[7] is not None:
            job = arrange(read_new_job(row))
            found.setdefault(job.uid, (job, 0))
            continue
        place += 1
        for job in route(read_event(row)):
            found.pop(job.uid, None)  # of one that is debounced the last counts
            found[job.uid] = job, place
    return [*found.values()]


def write_event(
    ord_: int, row: Sequence[Any], kept: Mapping[str, Container[str]] = NO_COLUMNS
) -> dict[str, Any]:  # fmt: skip
    """Return an event of the outbox as the log takes it: without rows, which only jobs hold.

    Args:
        kept: columns of rows that topics show, by the names of events; those stay for a while.
    """
    _, name, key, payload, at, cause, depth, _ = row
    told = _select_columns(payload, kept.get(name)) if is_row_event(name) else payload
    return {"ord": ord_, "name": name, "key": key, "payload": told, "at": at, "cause": cause,
            "depth": depth}  # fmt: skip


def _select_columns(payload: str, columns: Container[str] | None) -> str:
    """Return what the log keeps of a change: triggers may read more, also what is private."""
    if columns is None:
        return NO_ROWS
    found = {
        which: [{name: one for name, one in part.items() if name in columns} for part in parts]
        for which, parts in json.loads(payload).items() if parts is not None
    }  # fmt: skip
    return json.dumps(found)


def write_job(job: NewJob, ord_: int, seq: int, now: int) -> dict[str, Any]:
    """Return a job as the queue takes it."""
    return {
        "ord": ord_, "uid": job.uid, "work": job.work, "payload": job.payload, "lane": job.lane,
        "seats": job.seats, "priority": job.priority, "run_at": job.run_at,
        "debounced": job.is_debounced, "cause": job.cause.job, "depth": job.cause.depth,
        "seq": seq, "at": now,
    }  # fmt: skip


def write_new_job(job: NewJob) -> str:
    """Return what the outbox keeps of a job beside its payload and cause."""
    return json.dumps([
        job.uid, job.work, job.lane, job.seats, job.priority, job.run_at, job.is_debounced
    ])  # fmt: skip


def read_new_job(row: Sequence[Any]) -> NewJob:
    """Return a job of the outbox."""
    uid, work, lane, seats, priority, run_at, is_debounced = json.loads(row[7])
    cause = Cause(row[5], row[6])
    return NewJob(uid, work, row[3], lane, seats, priority, run_at, is_debounced, cause)
