"""Receivers of sent webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from bbops.base.host import Database
from bbops.runtime.work.statements import Statement


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where to send, and the secret to sign with, which appears nowhere else.

    Attributes:
        id: the key of its row, or the variable or address that the project names it by.
        disabled_at: ISO 8601 in UTC; empty while it is not disabled.
        is_row: it stands in a row, where people who use the project may write it.
    """

    id: str
    url: str
    secret: str
    disabled_at: str = ""
    is_row: bool = False


@dataclass(frozen=True, slots=True)
class ReceiverPage:
    """Receivers of one read, and the key behind which there may be more; None at the end."""

    ids: Sequence[str]
    after: Any = None


class Receivers(Protocol):
    """The receivers of one webhook."""

    async def page(
        self, database: Database, event: str, owner: Any, after: Any, most: int
    ) -> ReceiverPage:  # fmt: skip
        """Return who wants an event, behind a key."""
        ...

    async def find(self, database: Database, receiver: str) -> Receiver | None:
        """Return a receiver; None where there is none any more.

        Raises:
            FlowError: a variable that it needs has no value.
        """
        ...

    def disable(self, receiver: str, now: int) -> Statement:
        """Return what disables a receiver; it gives a row where that was not so before."""
        ...

    def enable(self, receiver: str) -> Statement:
        """Return what enables a receiver; it gives a row where it was disabled."""
        ...

    async def list(self, database: Database, most: int, *, disabled: bool) -> list[Receiver]:
        """Return receivers without their secrets, or those of them that are disabled."""
        ...


@dataclass(frozen=True, slots=True)
class TableReceivers:
    """Rows of a table of the project.

    Attributes:
        table: its name, and `key` that of its key's column.
        owner: the column that says whose a receiver is; empty where all are told.
        marks: the parameters for `key`, `owner` and a time, as the database wants them.
        read_key: gives the key of a text.
        read_owner: gives the owner's parameter.
        read_events: gives the list of what is stored in `events`.
    """

    table: str
    key: str
    owner: str
    marks: Mapping[str, str]
    read_key: Callable[[str], Any]
    read_owner: Callable[[Any], Any]
    read_events: Callable[[Any], Any]

    async def page(
        self, database: Database, event: str, owner: Any, after: Any, most: int
    ) -> ReceiverPage:  # fmt: skip
        """Return who wants an event: by `events` of its row, a list, or null for all."""
        where, given = ['"disabled_at" IS NULL'], list[Any]()
        if self.owner:
            where.append(f'"{self.owner}" = {self.marks["owner"]}')
            given.append(self.read_owner(owner))
        if after is not None:
            where.append(f'"{self.key}" > {self.marks["key"]}')
            given.append(after)
        rows = await database.read(
            f'SELECT "{self.key}", "events" FROM "{self.table}" WHERE {" AND ".join(where)}'
            f' ORDER BY "{self.key}" LIMIT ?',
            (*given, most),
        )
        wanted = [str(key) for key, events in rows if self._wants(event, events)]
        return ReceiverPage(wanted, rows[-1][0] if len(rows) == most else None)

    def _wants(self, event: str, events: Any) -> bool:
        found = self.read_events(events)
        return found is None or (type(found) is list and event in found)

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
        return Receiver(receiver, url, secret, _shown(at), is_row=True)

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

    async def list(self, database: Database, most: int, *, disabled: bool) -> list[Receiver]:
        """Return rows by their keys."""
        where = ' WHERE "disabled_at" IS NOT NULL' if disabled else ""
        rows = await database.read(
            f'SELECT "{self.key}", "url", "disabled_at" FROM "{self.table}"{where}'
            f' ORDER BY "{self.key}" LIMIT ?',
            (most,),
        )
        return [Receiver(str(key), url, "", _shown(at)) for key, url, at in rows]


_DISABLED: Final = (
    "SELECT receiver, disabled_at FROM _bbops_receivers"
    " WHERE webhook = ? AND disabled_at IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class ConfiguredReceivers:
    """Those that the project lists.

    Attributes:
        webhook: whose they are.
        every: what gives each of them, by its name.
    """

    webhook: str
    every: Mapping[str, Callable[[], Receiver]]

    async def page(
        self, database: Database, event: str, owner: Any, after: Any, most: int
    ) -> ReceiverPage:  # fmt: skip
        """Return all of them that are not disabled: each wants every event."""
        del event, owner, after, most
        disabled = await self._disabled(database)
        return ReceiverPage([name for name in self.every if name not in disabled])

    async def find(self, database: Database, receiver: str) -> Receiver | None:
        """Return one of them."""
        if receiver not in self.every:
            return None
        found = self.every[receiver]()
        at = (await self._disabled(database)).get(receiver, "")
        return Receiver(receiver, found.url, found.secret, at)

    def disable(self, receiver: str, now: int) -> Statement:
        """Note that it is disabled, beside the project."""
        sql = (
            "INSERT INTO _bbops_receivers (webhook, receiver, disabled_at) VALUES (?, ?, ?)"
            " ON CONFLICT (webhook, receiver) DO UPDATE SET disabled_at = excluded.disabled_at,"
            " failing_since = NULL WHERE _bbops_receivers.disabled_at IS NULL RETURNING 1"
        )
        return sql, (self.webhook, receiver, now)

    def enable(self, receiver: str) -> Statement:
        """Forget that it was disabled."""
        sql = (
            "DELETE FROM _bbops_receivers WHERE webhook = ? AND receiver = ?"
            " AND disabled_at IS NOT NULL RETURNING 1"
        )
        return sql, (self.webhook, receiver)

    async def list(self, database: Database, most: int, *, disabled: bool) -> list[Receiver]:
        """Return them in the project's order; one without a value for its address without it."""
        known = await self._disabled(database)
        names = [name for name in self.every if name in known or not disabled]
        return [Receiver(name, "", "", known.get(name, "")) for name in names[:most]]

    async def _disabled(self, database: Database) -> dict[str, str]:
        rows = await database.read(_DISABLED, (self.webhook,))
        return {name: _shown(datetime.fromtimestamp(at / 1000, UTC)) for name, at in rows}


def _shown(at: Any) -> str:
    """Return a time as it is in the database as people see it."""
    if isinstance(at, datetime):
        return f"{at.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"
    return f"{at[:19]}Z" if isinstance(at, str) else ""


MAX_CONCURRENT: Final = 5
"""Deliveries to one receiver; to one that fails one."""

FIRST_PAUSE_MS: Final = 5_000
LONGEST_PAUSE_MS: Final = 300_000
SPACING_MS: Final = 200
"""Between two deliveries to one receiver that were put off."""

MAX_RECEIVERS: Final = 10_000
"""Receivers that are remembered."""


@dataclass(slots=True)
class _ReceiverState:
    busy: int = 0
    failures: int = 0
    paused_until: int = 0
    next_slot: int = 0


class ReceiverGate:
    """Lets deliveries in by their receiver."""

    def __init__(self) -> None:
        self._known = dict[tuple[str, str], _ReceiverState]()

    def enter(self, receiver: tuple[str, str], now: int) -> int | None:
        """Let a delivery in, which calls `leave`; or return when it may come back."""
        state = self._known.setdefault(receiver, _ReceiverState())
        most = 1 if state.failures else MAX_CONCURRENT
        if now >= state.paused_until and state.busy < most:
            state.busy += 1
            return None
        state.next_slot = max(state.next_slot, state.paused_until, now) + SPACING_MS
        return state.next_slot

    def leave(self, receiver: tuple[str, str], now: int, *, succeeded: bool) -> None:
        """Say how a delivery went."""
        state = self._known.setdefault(receiver, _ReceiverState(busy=1))
        state.busy -= 1
        if succeeded:
            state.failures = state.paused_until = 0
        else:
            pause = min(FIRST_PAUSE_MS * 2 ** min(state.failures, 16), LONGEST_PAUSE_MS)
            state.failures, state.paused_until = state.failures + 1, now + pause
        if succeeded and not state.busy and state.next_slot <= now:
            del self._known[receiver]
        while len(self._known) > MAX_RECEIVERS:
            del self._known[next(iter(self._known))]
