"""Receivers of outgoing webhooks: their rows, events, and concurrent deliveries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from bbops.base.host import Database
from bbops.runtime.values.values import kind
from bbops.runtime.work.statements import Statement


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver's URL and secret. The secret is neither listed nor logged.

    Attributes:
        id: the key of its row, or its variable or URL in the project's file.
        disabled_at: ISO 8601 in UTC; empty if it is enabled.
        is_row: it is stored in a table, so the project's users may have written the URL.
        problem: the fault of its column `events`; empty without one.
    """

    id: str
    url: str
    secret: str
    disabled_at: str = ""
    is_row: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ReceiverPage:
    """A page of receiver ids, and the key after which the next page begins; None at the end.

    `problems` are the faults of columns `events`, by the ids of their receivers.
    """

    ids: Sequence[str]
    after: Any = None
    problems: Mapping[str, str] = field(default_factory=dict)


class Receivers(Protocol):
    """The receivers of one webhook."""

    async def page(
        self, database: Database, event: str, owner: Any, after: Any, limit: int
    ) -> ReceiverPage:  # fmt: skip
        """Return the receivers of an event after a key."""
        ...

    async def find(self, database: Database, receiver: str) -> Receiver | None:
        """Return a receiver; None if it was removed.

        Raises:
            FlowError: its variable has no value.
        """
        ...

    def disable(self, receiver: str, now: int) -> Statement:
        """Return a statement that disables a receiver, and returns a row if it was enabled."""
        ...

    def enable(self, receiver: str) -> Statement:
        """Return a statement that enables a receiver, and returns a row if it was disabled."""
        ...

    async def list(self, database: Database, limit: int, *, disabled: bool) -> list[Receiver]:
        """Return receivers without their secrets: all, or the disabled ones."""
        ...


@dataclass(frozen=True, slots=True)
class TableReceivers:
    """Receivers in a table of the project.

    Attributes:
        table: the name of the table.
        key: the column of its key.
        owner: the column of a receiver's owner; empty if each receiver gets the events of all.
        marks: the placeholders of `key`, `owner` and `time` in the SQL of the database.
        read_key: converts a receiver's id to a key.
        read_owner: converts an owner to a parameter.
        decode_events: decodes a value of the column `events`.
    """

    table: str
    key: str
    owner: str
    marks: Mapping[str, str]
    read_key: Callable[[str], Any]
    read_owner: Callable[[Any], Any]
    decode_events: Callable[[Any], Any]

    async def page(
        self, database: Database, event: str, owner: Any, after: Any, limit: int
    ) -> ReceiverPage:  # fmt: skip
        """Return the receivers whose column `events` lists the event, or is null."""
        where, parameters = ['"disabled_at" IS NULL'], list[Any]()
        if self.owner:
            where.append(f'"{self.owner}" = {self.marks["owner"]}')
            parameters.append(self.read_owner(owner))
        if after is not None:
            where.append(f'"{self.key}" > {self.marks["key"]}')
            parameters.append(after)
        rows = await database.read(
            f'SELECT "{self.key}", "events" FROM "{self.table}" WHERE {" AND ".join(where)}'
            f' ORDER BY "{self.key}" LIMIT ?',
            (*parameters, limit),
        )
        found = {str(key): read_events(self.decode_events(events)) for key, events in rows}
        ids = [key for key, events in found.items() if events.accept(event)]
        problems = {key: events.problem for key, events in found.items() if events.problem}
        return ReceiverPage(ids, rows[-1][0] if len(rows) == limit else None, problems)

    async def find(self, database: Database, receiver: str) -> Receiver | None:
        """Return the receiver of a row."""
        rows = await database.read(
            f'SELECT "url", "secret", "disabled_at" FROM "{self.table}"'
            f' WHERE "{self.key}" = {self.marks["key"]}',
            (self.read_key(receiver),),
        )
        if not rows:
            return None
        url, secret, at = rows[0]
        return Receiver(receiver, url, secret, _format_time(at), is_row=True)

    def disable(self, receiver: str, now: int) -> Statement:
        """Set `disabled_at`."""
        at = f"{datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec='microseconds')[:26]}Z"
        sql = (
            f'UPDATE "{self.table}" SET "disabled_at" = {self.marks["time"]}'
            f' WHERE "{self.key}" = {self.marks["key"]} AND "disabled_at" IS NULL RETURNING 1'
        )
        return sql, (at, self.read_key(receiver))

    def enable(self, receiver: str) -> Statement:
        """Clear `disabled_at`."""
        sql = (
            f'UPDATE "{self.table}" SET "disabled_at" = NULL'
            f' WHERE "{self.key}" = {self.marks["key"]} AND "disabled_at" IS NOT NULL RETURNING 1'
        )
        return sql, (self.read_key(receiver),)

    async def list(self, database: Database, limit: int, *, disabled: bool) -> list[Receiver]:
        """Return rows by their keys."""
        where = ' WHERE "disabled_at" IS NOT NULL' if disabled else ""
        rows = await database.read(
            f'SELECT "{self.key}", "url", "disabled_at", "events" FROM "{self.table}"{where}'
            f' ORDER BY "{self.key}" LIMIT ?',
            (limit,),
        )
        return [
            Receiver(
                str(key), url, "", _format_time(at), is_row=True,
                problem=read_events(self.decode_events(events)).problem,
            ) for key, url, at, events in rows
        ]  # fmt: skip


_DISABLED: Final = (
    "SELECT receiver, disabled_at FROM _bbops_receivers"
    " WHERE webhook = ? AND disabled_at IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class ConfiguredReceivers:
    """Receivers in a file of the project.

    Attributes:
        webhook: the name of their webhook.
        makers: functions that return the receivers, by id.
    """

    webhook: str
    makers: Mapping[str, Callable[[], Receiver]]

    async def page(
        self, database: Database, event: str, owner: Any, after: Any, limit: int
    ) -> ReceiverPage:  # fmt: skip
        """Return all enabled receivers: each gets every event."""
        del event, owner, after, limit
        disabled = await self._disabled(database)
        return ReceiverPage([name for name in self.makers if name not in disabled])

    async def find(self, database: Database, receiver: str) -> Receiver | None:
        """Return the receiver with this id."""
        if receiver not in self.makers:
            return None
        made = self.makers[receiver]()
        at = (await self._disabled(database)).get(receiver, "")
        return Receiver(receiver, made.url, made.secret, at)

    def disable(self, receiver: str, now: int) -> Statement:
        """Record in `_bbops_receivers` that a receiver is disabled."""
        sql = (
            "INSERT INTO _bbops_receivers (webhook, receiver, disabled_at) VALUES (?, ?, ?)"
            " ON CONFLICT (webhook, receiver) DO UPDATE SET disabled_at = excluded.disabled_at,"
            " failing_since = NULL WHERE _bbops_receivers.disabled_at IS NULL RETURNING 1"
        )
        return sql, (self.webhook, receiver, now)

    def enable(self, receiver: str) -> Statement:
        """Delete the record that a receiver is disabled."""
        sql = (
            "DELETE FROM _bbops_receivers WHERE webhook = ? AND receiver = ?"
            " AND disabled_at IS NOT NULL RETURNING 1"
        )
        return sql, (self.webhook, receiver)

    async def list(self, database: Database, limit: int, *, disabled: bool) -> list[Receiver]:
        """Return receivers in the order of the file, without their URLs."""
        times = await self._disabled(database)
        names = [name for name in self.makers if name in times or not disabled]
        return [Receiver(name, "", "", times.get(name, "")) for name in names[:limit]]

    async def _disabled(self, database: Database) -> dict[str, str]:
        rows = await database.read(_DISABLED, (self.webhook,))
        return {name: _format_time(datetime.fromtimestamp(at / 1000, UTC)) for name, at in rows}


def _format_time(at: Any) -> str:
    """Return a stored time in ISO 8601."""
    if isinstance(at, datetime):
        return f"{at.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"
    return f"{at[:19]}Z" if isinstance(at, str) else ""


MAX_CONCURRENT: Final = 5
"""The most concurrent deliveries to a receiver. A failing receiver gets one at a time."""

FIRST_PAUSE_MS: Final = 5_000
LONGEST_PAUSE_MS: Final = 300_000
SPACING_MS: Final = 200
"""The pause between two postponed deliveries to a receiver."""

MAX_RECEIVERS: Final = 10_000
"""The most receivers in memory."""


@dataclass(slots=True)
class _ReceiverState:
    busy: int = 0
    failures: int = 0
    paused_until: int = 0
    next_slot: int = 0


class ReceiverGate:
    """Limits concurrent deliveries to each receiver, and pauses failing receivers."""

    def __init__(self) -> None:
        self._states = dict[tuple[str, str], _ReceiverState]()

    def enter(self, receiver: tuple[str, str], now: int) -> int | None:
        """Admit a delivery, which calls `leave`, and return None; or return its next time."""
        state = self._states.setdefault(receiver, _ReceiverState())
        limit = 1 if state.failures else MAX_CONCURRENT
        if now >= state.paused_until and state.busy < limit:
            state.busy += 1
            return None
        state.next_slot = max(state.next_slot, state.paused_until, now) + SPACING_MS
        return state.next_slot

    def leave(self, receiver: tuple[str, str], now: int, *, succeeded: bool) -> None:
        """Report the end of an admitted delivery."""
        state = self._states.setdefault(receiver, _ReceiverState(busy=1))
        state.busy -= 1
        if succeeded:
            state.failures = state.paused_until = 0
        else:
            pause = min(FIRST_PAUSE_MS * 2 ** min(state.failures, 16), LONGEST_PAUSE_MS)
            state.failures, state.paused_until = state.failures + 1, now + pause
        if succeeded and not state.busy and state.next_slot <= now:
            del self._states[receiver]
        while len(self._states) > MAX_RECEIVERS:
            del self._states[next(iter(self._states))]


WANTED: Final = "'events' needs a list of names such as ['order.done'], or null for all events"


@dataclass(frozen=True, slots=True)
class ReceiverEvents:
    """The events of a receiver.

    Attributes:
        names: the names; None for all events.
        problem: why the column gives fewer names than it seems to; empty if it is valid.
    """

    names: frozenset[str] | None
    problem: str = ""

    def accept(self, event: str) -> bool:
        """Return whether the receiver gets an event."""
        return self.names is None or event in self.names


def read_events(value: Any) -> ReceiverEvents:
    """Return the events of a decoded value: a list of names, one name, or null for all."""
    if value is None:
        return ReceiverEvents(None)
    members = [value] if type(value) is str else value
    if type(members) is not list:
        return ReceiverEvents(frozenset(), f"{WANTED}; got {kind(value)}")
    names = frozenset(member for member in members if type(member) is str and member)
    wrong = [member for member in members if type(member) is not str or not member]
    if not wrong:
        return ReceiverEvents(names)
    found = "an empty name" if wrong[0] == "" else f"{kind(wrong[0])} among them"
    return ReceiverEvents(names, f"{WANTED}; got {found}")
