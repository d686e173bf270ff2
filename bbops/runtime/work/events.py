"""Where `emit` goes: into the commit of whoever emits, or into one of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from bbops.base.host import Database
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.engine import emit
from bbops.runtime.work.values import MOST_DEPTH, TOO_DEEP, Cause
from bbops.runtime.work.writes import HeardDatabase


def _nothing() -> None:
    """Wake nobody."""


class Outbox:
    """The events of a project."""

    def __init__(
        self, database: Database, now: Callable[[], int], wake: Callable[[], None] = _nothing, *,
        cause: Cause = Cause(),  # noqa: B008 - frozen
    ) -> None:  # fmt: skip
        """Make the door.

        Args:
            database: the project's, or the door of a transaction.
            now: gives the time in milliseconds since 1970.
            wake: is called when an event has been committed.
            cause: the job that emits.
        """
        self._database, self._now, self._wake, self._cause = database, now, wake, cause

    async def emit(self, event: str, payload: Any) -> None:
        """Write an event into the outbox, from where it reaches its triggers once committed.

        Raises:
            FlowError: too many jobs have caused one another.
            Failure: it cannot be written.
        """
        cause = self._cause
        if cause.depth > MOST_DEPTH:
            raise FlowError(f"event '{event}' is not emitted: {TOO_DEEP}")
        text = msgspec.json.encode(payload).decode()
        await self._database.write(*emit(event, text, self._now(), cause=cause))
        self._wake()

    def within(self, database: Database) -> Outbox:
        """Return the door of a transaction."""
        return _Within(database, self._now, self._wake, cause=self._cause)

    async def committed(self) -> None:
        """Wake whoever waits for events."""
        self._wake()

    def heard(self) -> Database:
        """Return the database whose writes wake whoever waits for events, too."""
        return HeardDatabase(self._database, self._wake)


class _Within(Outbox):
    def __init__(
        self, database: Database, now: Callable[[], int], wake: Callable[[], None], *,
        cause: Cause,
    ) -> None:  # fmt: skip
        super().__init__(database, now, self._note, cause=cause)
        self._is_told, self._outer = False, wake

    def _note(self) -> None:
        self._is_told = True

    async def committed(self) -> None:
        if self._is_told:
            self._outer()
