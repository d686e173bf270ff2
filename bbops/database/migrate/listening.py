"""Let a database report the changes of rows that its releases wait for.

Before a release goes live, the database reports the events of this release and of the old one;
after the old one has ended, only the live one's. Changes by migrations are not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from bbops.database.diff.live_tables import LiveTables
from bbops.database.migrate.opened import Opened, read_tables
from bbops.database.schema.place import Place
from bbops.database.schema.row_events import (
    NOTE,
    ByTable,
    Listening,
    RowEvents,
    read_listening,
    refuse,
    write_listening,
)
from bbops.runtime.work.rows import OPERATIONS


def find_listening(live: LiveTables) -> Listening:
    """Return the current listeners."""
    return read_listening(live.read_note(NOTE))


def silently(live: LiveTables, work: Callable[[], None]) -> None:
    """Change tables and rows without reporting it."""
    listening = find_listening(live)
    if not listening.every:
        work()
        return
    live.silence()
    work()
    live.report_changes(listening.every)


def refuse_triggers(place: Place, wanted: ByTable) -> None:
    """Refuse a release whose SQL triggers cannot be created, before anything changes.

    Raises:
        TriggerRefused: a role of PostgreSQL may not create one.
        DatabaseError: the database cannot be read.
    """
    if wanted and not isinstance(place, Path):
        with read_tables(place) as live:
            refuse(live.find_refused_triggers(wanted))


def find_all_refused(live: LiveTables, tables: Collection[str]) -> Mapping[str, str]:
    """Return the tables on which a trigger cannot be created, as `find_refused_triggers`."""
    return live.find_refused_triggers({table: RowEvents.of(OPERATIONS, ()) for table in tables})


def begin_listening(opened: Opened, wanted: ByTable, release: str) -> None:
    """Report changes to a release that is about to go live, beside the live one."""
    now = opened.look(lambda: find_listening(opened.live))
    if now.live != wanted or now.coming is not None:
        _listen(opened, now, Listening(now.live, wanted, release))


def finish_listening(opened: Opened, release: str | None) -> None:
    """Report only the events of the live release, after the old one has ended.

    Args:
        opened: the database.
        release: the digest of the live release; None if the database is not served.
    """
    now = opened.look(lambda: find_listening(opened.live))
    if now.coming is not None and release in {None, now.release}:
        _listen(opened, now, Listening(now.coming))


def _listen(opened: Opened, before: Listening, after: Listening) -> None:
    live = opened.live

    def work() -> None:
        live.write_note(NOTE, write_listening(after))
        if before.every != after.every:
            live.report_changes(after.every)

    opened.transact(work)
