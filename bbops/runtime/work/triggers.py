"""Jobs that events make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bbops.base.host import Database
from bbops.runtime.work.rows import is_row_event, rows_payload
from bbops.runtime.work.statements import WorkDialect
from bbops.runtime.work.values import NORMAL, ProjectEvent, NewJob
from bbops.runtime.work.webhooks import display_name

_MAX_KEY: Final = 200
"""Characters of a key of jobs."""


KeyOf = Callable[[str], object]
"""Gives a key, of the payload of a job."""


@dataclass(frozen=True, slots=True)
class KeyWindow:
    """A key of jobs that means something for a time."""

    key: KeyOf
    for_ms: int


@dataclass(frozen=True, slots=True)
class EventTrigger:
    """A trigger of a release.

    Attributes:
        work: its name.
        events: what it waits for.
        where: says of a job's payload whether it is to run; None where all are.
        lane: gives the key of its lane, of a job's payload; None without one.
        seats: how many jobs of a lane may run at a time.
        unique: of the jobs of a key only the first is made for a time.
        debounce: of the jobs of a key only the last runs, once none has come for a time.
        renamed_from: the name that it had before.
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
        """What its lanes and keys begin with: they are those of its jobs before it was renamed."""
        return self.renamed_from or self.work

    def job(self, event: ProjectEvent, payload: str) -> NewJob:
        """Return the job that an event makes."""
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
    """Return a key as it is kept; None where it fails: its job fails then, where people see it."""
    try:
        return stored_key(str(key_of(payload)))
    except Exception:  # noqa: BLE001 - one key takes no other job along
        return None


def lane_of(work: str, key_of: KeyOf | None, payload: str) -> str:
    """Return the name of a job's lane; where its key fails, one of all those that do."""
    if key_of is None:
        return ""
    try:
        key = str(key_of(payload))
    except Exception:  # noqa: BLE001 - one key takes no other job along
        key = ""
    return f"{work}/{stored_key(key)}"


def stored_key(key: str) -> str:
    """Return a key as databases take it: of a long one, and of odd characters, its hash."""
    if len(key) <= _MAX_KEY and key.isprintable():
        return key
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


class Triggers:
    """The triggers of a release, by the events that they wait for."""

    def __init__(self, triggers: Iterable[EventTrigger]) -> None:
        found = dict[str, list[EventTrigger]]()
        for one in triggers:
            for event in one.events:
                found.setdefault(event, []).append(one)
        self._by_event: Mapping[str, Sequence[EventTrigger]] = found

    def route(self, event: ProjectEvent) -> list[NewJob]:
        """Return a job for each trigger of an event."""
        wanted = self._by_event.get(event.name, ())
        if not wanted:
            return []
        payload = job_payload(event)
        return [
            one.job(event, payload)
            for one in wanted if one.where is None or _matches(one.where, payload)
        ]  # fmt: skip


def _matches(where: Callable[[str], bool], payload: str) -> bool:
    """Return whether a condition holds; one that fails takes no other trigger along.

    The job is made then. It asks again, and fails where people see it.
    """
    try:
        return where(payload)
    except Exception:  # noqa: BLE001 - see above
        return True


def job_payload(event: ProjectEvent) -> str:
    """Return what the job of a trigger is given of an event."""
    if is_row_event(event.name):
        return rows_payload(event.payload)
    return json.dumps({"name": display_name(event.name), "payload": read_payload(event.payload)})


def read_payload(payload: str) -> Any:
    """Return the payload of an event; what SQL has written that is not JSON is a text."""
    try:
        return json.loads(payload)
    except ValueError:
        return payload


RoutedJob = tuple[NewJob, int]
"""A job to be made, and its event's place in the log."""


async def read_keys(
    database: Database, dialect: WorkDialect, jobs: Sequence[RoutedJob]
) -> Mapping[str, int]:
    """Return until when the keys of jobs are taken."""
    keys = [job.unique for job, _ in jobs if job.unique]
    if not keys:
        return {}
    sql = f"SELECT key, until FROM _bbops_unique WHERE key IN ({dialect.texts})"
    return dict(await database.read(sql, (json.dumps(keys),)))


def choose_unique(
    jobs: Sequence[RoutedJob], taken: Mapping[str, int]
) -> tuple[list[RoutedJob], dict[str, int]]:
    """Return the jobs to make, and until when the keys are taken that they take.

    What counts is when the events were emitted, not when somebody looks at them.
    """
    found, until = list[RoutedJob](), dict[str, int]()
    for job, place in jobs:
        if job.unique:
            if until.get(job.unique, taken.get(job.unique, 0)) > job.created_at:
                continue
            until[job.unique] = job.created_at + job.unique_ms
        found.append((job, place))
    return found, until


def write_keys(until: Mapping[str, int]) -> str:
    """Return as JSON until when keys are taken."""
    return json.dumps([{"key": key, "until": at} for key, at in until.items()])


ANY_VALUE: Final = ""
"""A job that any event of a name may be of interest to."""

_MAX_TEXT: Final = 100


def awaited_value(value: Any) -> str:
    """Return a value as it is compared; ANY_VALUE of one that is written in more than one way."""
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
    """Return as JSON which waiting jobs events are of interest to, of rows of the outbox."""
    return json.dumps([one for row in events if row[1] for one in list_wakes(row[1], row[3])])


def list_wakes(event: str, payload: str) -> Iterator[dict[str, str]]:
    """Yield what an event is of interest to: its name with each value of its payload."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):  # SQL has written it
        found = payload
    for value in dict.fromkeys((ANY_VALUE, *map(awaited_value, _values(found)))):
        yield {"event": event, "value": value}


def _values(found: Any) -> Iterator[Any]:
    """Yield the texts, numbers and flags of a payload, at any depth."""
    todo = [found]
    while todo:
        one = todo.pop()
        if isinstance(one, dict | list):
            todo += _children(one)
        else:
            yield one


def _children(found: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return found.values() if isinstance(found, dict) else found
