"""Events about changed rows, and the queue's rows as JSON and values."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.values import Cause, Claim, NewJob, ProjectEvent, Route

Operation = Literal["insert", "update", "delete"]
OPERATIONS: Final[tuple[Operation, ...]] = ("insert", "update", "delete")

_SEPARATOR: Final = ":"
"""Names of emitted events cannot contain it."""

ROWS_PREFIX: Final = '{"trigger":'
"""The start of the payload of a job about a changed row."""


def row_event(table: str, operation: Operation) -> str:
    """Return the event name of a change of a table's rows."""
    return f"{table}{_SEPARATOR}{operation}"


def event_table(name: str) -> str:
    """Return the table of an event about a changed row."""
    return name.partition(_SEPARATOR)[0]


def is_row_event(name: str) -> bool:
    """Return whether an event is about a changed row."""
    return _SEPARATOR in name


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads changed rows from the payloads that SQL triggers wrote.

    Attributes:
        decoders: decoders of JSON values by column; None if the JSON value needs no decoding.
    """

    decoders: Mapping[str, Callable[[Any], Any] | None]

    def __call__(self, payload: str) -> dict[str, Any]:
        """Return the function's `trigger` value from a job's payload.

        Raises:
            FlowError: a column had another type when the row changed.
        """
        trigger = json.loads(payload)["trigger"]
        return {name: self._row(trigger.get(name)) for name in ("newRow", "oldRow")}

    def _row(self, parts: list[Mapping[str, Any]] | None) -> dict[str, Any] | None:
        if parts is None:
            return None
        values = {column: value for part in parts for column, value in part.items()}
        return {
            column: _decode(column, values.get(column), decode)
            for column, decode in self.decoders.items()
        }


def _decode(column: str, value: Any, decode: Callable[[Any], Any] | None) -> Any:
    if decode is None:
        return value
    try:
        return decode(value)
    except (TypeError, ValueError, ArithmeticError):
        message = f"column '{column}' had another type when the row changed"
        raise FlowError(message) from None


def rows_payload(payload: str) -> str:
    """Return a job's payload from the payload that SQL triggers wrote."""
    return f"{ROWS_PREFIX}{payload}}}"


NO_COLUMNS: Final[Mapping[str, Container[str]]] = MappingProxyType({})
NO_ROWS: Final = "{}"
"""The payload of a row event whose rows are not stored."""


def find_batch_end(sizes: Iterable[Sequence[Any]], max_bytes: int) -> int | None:
    """Return the id of the last row that fits into a batch, None without rows.

    Args:
        sizes: (id, size in bytes) of each row. The first row fits at any size.
        max_bytes: the size of the batch.
    """
    last, left = None, max_bytes
    for row_id, size in sizes:
        left -= size
        if left < 0 and last is not None:
            break
        last = row_id
    return last


def read_claim(row: Sequence[Any]) -> Claim:
    """Return a claim from the columns that the claim statement returns."""
    job_id, uid, work, payload, attempt, fence, lane, code, seq, cause, depth, due, created = row
    return Claim(
        job_id, uid, work, payload, attempt, fence, lane, code, seq, Cause(cause, depth),
        due_at=due, created_at=created,
    )  # fmt: skip


def read_event(row: Sequence[Any]) -> ProjectEvent:
    """Return an event from an outbox row."""
    event_id, name, key, payload, at, cause, depth, _ = row
    return ProjectEvent(event_id, name, payload, at, key, Cause(cause, depth))


def route_rows(
    rows: Sequence[Sequence[Any]], newest: int, route: Route, arrange: Callable[[NewJob], NewJob]
) -> list[tuple[NewJob, int]]:
    """Return the jobs of outbox rows, each with its event's position in the log or 0.

    Args:
        newest: the position of the newest event in the log.
        route: returns the jobs of an event.
        arrange: returns an enqueued job with its lane and priority.
    """
    jobs, position = dict[str, tuple[NewJob, int]](), newest
    for row in rows:
        if row[7] is not None:
            job = arrange(read_new_job(row))
            jobs.setdefault(job.uid, (job, 0))
            continue
        position += 1
        for job in route(read_event(row)):
            jobs.pop(job.uid, None)  # the last debounced job counts
            jobs[job.uid] = job, position
    return [*jobs.values()]


def write_event(
    ord_: int, row: Sequence[Any], columns: Mapping[str, Container[str]] = NO_COLUMNS
) -> dict[str, Any]:  # fmt: skip
    """Return an outbox event as a row for the log, without the changed row.

    Args:
        columns: columns that topics publish, by event name; the log keeps these.
    """
    _, name, key, payload, at, cause, depth, _ = row
    if is_row_event(name):
        payload = _select_columns(payload, columns.get(name))
    return {"ord": ord_, "name": name, "key": key, "payload": payload, "at": at, "cause": cause,
            "depth": depth}  # fmt: skip


def _select_columns(payload: str, columns: Container[str] | None) -> str:
    """Return the payload of a row event with these columns alone: others may be private."""
    if columns is None:
        return NO_ROWS
    rows = {
        row: [
            {column: value for column, value in part.items() if column in columns}
            for part in parts
        ] for row, parts in json.loads(payload).items() if parts is not None
    }  # fmt: skip
    return json.dumps(rows)


def write_job(job: NewJob, ord_: int, seq: int, now: int) -> dict[str, Any]:
    """Return a job as a row for the queue."""
    return {
        "ord": ord_, "uid": job.uid, "work": job.work, "payload": job.payload, "lane": job.lane,
        "seats": job.seats, "priority": job.priority, "run_at": job.run_at,
        "debounced": job.is_debounced, "cause": job.cause.job, "depth": job.cause.depth,
        "seq": seq, "at": now,
    }  # fmt: skip


def write_new_job(job: NewJob) -> str:
    """Return the outbox column `job`: the fields of a job except its payload and cause."""
    return json.dumps([
        job.uid, job.work, job.lane, job.seats, job.priority, job.run_at, job.is_debounced
    ])  # fmt: skip


def read_new_job(row: Sequence[Any]) -> NewJob:
    """Return a job from an outbox row."""
    uid, work, lane, seats, priority, run_at, is_debounced = json.loads(row[7])
    cause = Cause(row[5], row[6])
    return NewJob(uid, work, row[3], lane, seats, priority, run_at, is_debounced, cause)
