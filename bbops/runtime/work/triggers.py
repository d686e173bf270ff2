"""Triggers: the jobs of events, their keys, and the jobs that wait for an event."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bbops.base.host import Database
from bbops.runtime.work.rows import is_row_event, rows_payload
from bbops.runtime.work.statements import WorkDialect
from bbops.runtime.work.values import NORMAL, NewJob, ProjectEvent
from bbops.runtime.work.webhooks import display_name

_MAX_KEY: Final = 200
"""The most characters of a stored key."""


KeyOf = Callable[[str], object]
"""Returns a key from the payload of a job."""


@dataclass(frozen=True, slots=True)
class KeyWindow:
    """A key of jobs, and the time for which it applies."""

    key: KeyOf
    for_ms: int


@dataclass(frozen=True, slots=True)
class EventTrigger:
    """A trigger of a release.

    Attributes:
        work: the name of the trigger.
        events: the names of its events.
        where: the condition on a job's payload; None without a condition.
        lane: returns the key of a job's lane; None without lanes.
        seats: the number of jobs in a lane that run at a time.
        unique: for this time after a job, no job with the same key is created.
        debounce: the last job of a key runs when no job with the key was created for this time.
        renamed_from: the former name of the trigger.
    """

    work: str
    events: Sequence[str]
    where: Callable[[str], bool] | None = None
    lane: KeyOf | None = None
    seats: int = 1
    priority: int = NORMAL
    unique: KeyWindow | None = None
    debounce: KeyWindow | None = None
    renamed_from: str = ""

    @property
    def root(self) -> str:
        """The prefix of its lanes and keys: the former name, so that older jobs share them."""
        return self.renamed_from or self.work

    def job(self, event: ProjectEvent, payload: str) -> NewJob:
        """Return the job of an event."""
        lane = lane_of(self.root, self.lane, payload)
        job = NewJob(
            f"{self.work}@{event.id}", self.work, payload, lane=lane, seats=self.seats,
            priority=self.priority, cause=event.cause,
        )  # fmt: skip
        if self.debounce and (key := _key(self.debounce.key, payload)) is not None:
            at = event.at + self.debounce.for_ms
            job = replace(job, uid=f"{self.root}@{key}", run_at=at, is_debounced=True)
        if self.unique and (key := _key(self.unique.key, payload)) is not None:
            job = replace(
                job, unique=f"{self.root}/{key}", unique_ms=self.unique.for_ms, created_at=event.at
            )
        return job


def _key(key_of: KeyOf, payload: str) -> str | None:
    """Return a stored key; None if its expression fails, as the job then fails with that error."""
    try:
        return stored_key(str(key_of(payload)))
    except Exception:  # noqa: BLE001 - a failing key must not stop other jobs
        return None


def lane_of(work: str, key_of: KeyOf | None, payload: str) -> str:
    """Return the name of a job's lane. All jobs whose key fails share a lane."""
    if key_of is None:
        return ""
    try:
        key = str(key_of(payload))
    except Exception:  # noqa: BLE001 - a failing key must not stop other jobs
        key = ""
    return f"{work}/{stored_key(key)}"


def stored_key(key: str) -> str:
    """Return a stored key: its hash if it is long or not printable."""
    if len(key) <= _MAX_KEY and key.isprintable():
        return key
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


class Triggers:
    """The triggers of a release by event."""

    def __init__(self, triggers: Iterable[EventTrigger]) -> None:
        by_event = dict[str, list[EventTrigger]]()
        for trigger in triggers:
            for event in trigger.events:
                by_event.setdefault(event, []).append(trigger)
        self._by_event: Mapping[str, Sequence[EventTrigger]] = by_event

    def route(self, event: ProjectEvent) -> list[NewJob]:
        """Return a job for each trigger of an event."""
        triggers = self._by_event.get(event.name, ())
        if not triggers:
            return []
        payload = job_payload(event)
        return [
            trigger.job(event, payload) for trigger in triggers
            if trigger.where is None or _matches(trigger.where, payload)
        ]  # fmt: skip


def _matches(where: Callable[[str], bool], payload: str) -> bool:
    """Return whether a condition holds. If it fails, return True.

    Other triggers are not affected. The job evaluates the condition again, and fails with its
    error.
    """
    try:
        return where(payload)
    except Exception:  # noqa: BLE001 - see above
        return True


def job_payload(event: ProjectEvent) -> str:
    """Return the payload of a trigger's job for an event."""
    if is_row_event(event.name):
        return rows_payload(event.payload)
    return json.dumps({"name": display_name(event.name), "payload": read_payload(event.payload)})


def read_payload(payload: str) -> Any:
    """Decode the payload of an event. If SQL wrote text that is not JSON, return the text."""
    try:
        return json.loads(payload)
    except ValueError:
        return payload


RoutedJob = tuple[NewJob, int]
"""A job that is not in the queue yet, and its event's position in the log."""


async def read_keys(
    database: Database, dialect: WorkDialect, jobs: Sequence[RoutedJob]
) -> Mapping[str, int]:
    """Return the times until which the `unique` keys of jobs are taken."""
    keys = [job.unique for job, _ in jobs if job.unique]
    if not keys:
        return {}
    sql = f"SELECT key, until FROM _bbops_unique WHERE key IN ({dialect.texts})"
    return dict(await database.read(sql, (json.dumps(keys),)))


def choose_unique(
    jobs: Sequence[RoutedJob], taken: Mapping[str, int]
) -> tuple[list[RoutedJob], dict[str, int]]:
    """Return the jobs to create, and the times until which they take their `unique` keys.

    The times of the events count, not the time of this call.
    """
    chosen, until = list[RoutedJob](), dict[str, int]()
    for job, position in jobs:
        if job.unique:
            if until.get(job.unique, taken.get(job.unique, 0)) > job.created_at:
                continue
            until[job.unique] = job.created_at + job.unique_ms
        chosen.append((job, position))
    return chosen, until


def write_keys(until: Mapping[str, int]) -> str:
    """Return the times until which keys are taken, as JSON."""
    return json.dumps([{"key": key, "until": at} for key, at in until.items()])


ANY_VALUE: Final = ""
"""The awaited value of a job that any event of a name may wake."""

_MAX_TEXT: Final = 100


def awaited_value(value: Any) -> str:
    """Return a value in comparable form; ANY_VALUE if it has more than one textual form."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"#{value}"
        case float() if value.is_integer():
            return f"#{int(value)}"
        case str() if len(value) <= _MAX_TEXT and value.isprintable():
            return f"'{value}"
        case str():
            return f"%{hashlib.sha256(value.encode(errors='surrogatepass')).hexdigest()}"
    return ANY_VALUE


def write_wakes(events: Sequence[Sequence[Any]]) -> str:
    """Return the event names and values that wake jobs, as JSON, from outbox rows."""
    return json.dumps([wake for row in events if row[1] for wake in list_wakes(row[1], row[3])])


def list_wakes(event: str, payload: str) -> Iterator[dict[str, str]]:
    """Yield the event's name with each value in its payload."""
    try:
        decoded = json.loads(payload)
    except (ValueError, RecursionError):  # written by SQL
        decoded = payload
    for value in dict.fromkeys((ANY_VALUE, *map(awaited_value, _values(decoded)))):
        yield {"event": event, "value": value}


def _values(payload: Any) -> Iterator[Any]:
    """Yield the texts, numbers and flags of a payload, at any depth."""
    stack = [payload]
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list):
            stack += _children(value)
        else:
            yield value


def _children(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
