"""Take a database to the tables of a new release while the one before serves, a phase at a time.

`expand` comes before the swap, `switch` at it where two releases cannot share a name or a type, and
`narrow` once the release before has answered its last request. Each is one transaction, and each
is found in the file itself: whoever is killed, the next one goes on from there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType

from bbops.base.errors import DatabaseError, MigrationRefused
from bbops.database.diff.changes import Change
from bbops.database.diff.live_tables import LiveTables
from bbops.database.migrate import migrate
from bbops.database.migrate.listening import (
    begin_listening,
    find_listening,
    finish_listening,
)
from bbops.database.migrate.migrate import Migration
from bbops.database.migrate.opened import Opened, read_tables, write_tables
from bbops.database.migrate.phases import (
    Name,
    Tables,
    dropped,
    find_names,
    find_phases,
    narrowed,
    renamed,
    unindexed,
    without,
)
from bbops.database.migrate.progress import Progress, read_progress, write_progress
from bbops.database.migrate.rollout_plan import Plan, known_tables, plan_rollout, recorded_tables
from bbops.database.schema.place import Place
from bbops.database.schema.row_events import ByTable
from bbops.language.resources.table import Table


@dataclass(frozen=True, slots=True)
class Hidden:
    """A column that no release declares, or a table if `column` is empty, and its values."""

    table: str
    column: str
    rows: int

    def __str__(self) -> str:
        return f"{self.table}.{self.column}" if self.column else self.table


def plan(place: Place, wanted: Mapping[str, Table], *, seconds: float | None = None) -> Plan:
    """Return what `expand`, `switch` and `narrow` would do; changes nothing.

    Args:
        place: the database.
        wanted: as declared.
        seconds: how long it may look at rows; None for as long as it takes.

    Raises:
        DatabaseError: the database cannot be read, or not in time.
        MigrationRefused: the tables cannot be described, or are of another type than hidden ones.
    """
    until = None if seconds is None else monotonic() + seconds
    with read_tables(place) as live:
        if until is None:
            return replace(plan_rollout(live, wanted), listening=find_listening(live))
        live.limit(until)
        try:
            return plan_rollout(live, wanted)
        except (sqlite3.Error, DatabaseError):
            if monotonic() < until:
                raise
            raise _too_long(seconds) from None


def _too_long(seconds: float | None) -> DatabaseError:
    return DatabaseError(
        f"checking the rows takes longer than {seconds:g} seconds",
        hint="make the checks and conversions of these tables simpler",
    )


def rehearse(place: Place, plan: Plan) -> None:
    """Make, in an empty database, the tables that the new release meets when it goes live."""
    bare = {name: _without_seed(table) for name, table in plan.phases.switched.items()}
    migrate.apply(place, bare)  # seed rows may refer to rows that only the live database has


def expand(
    place: Place, wanted: Mapping[str, Table], approved: Collection[str] = (), *,
    row_events: ByTable = MappingProxyType({}), release: str = "",
) -> Migration:  # fmt: skip
    """Make what both releases can live with, and return the whole plan.

    The plan looks at rows while others write; each phase looks again at those it is about.

    Args:
        place: the database; a file is made if it is missing.
        wanted: as declared.
        approved: hashes of plans that may lose what they say.
        row_events: the changes of rows that the new release is to hear of.
        release: its digest.

    Raises:
        MigrationRefused: a change is not safe, or rows break a rule; lists every refused change.
        DatabaseError: the database cannot be written.
    """
    with read_tables(place) as looked:
        found, planned_on = plan_rollout(looked, wanted), _mark(looked)
    with write_tables(place) as opened:
        live = opened.live
        if opened.look(lambda: _mark(live)) != planned_on:  # another publication came between
            found = opened.look(lambda: plan_rollout(live, wanted))
        if found.is_done:
            _complete(opened)
            _seed(opened)
            migrate.validate(opened)
            begin_listening(opened, row_events, release)
            return found.migration
        migration = found.migration
        if migration.refused and not (migration.is_waiting and migration.hash in approved):
            raise migrate.refusal(migration)
        progress = _without_spare(opened, wanted)
        known = opened.look(lambda: known_tables(live, progress))
        after, tables = _expanded(progress, found, known, wanted), found.phases.expanded
        if not isinstance(place, Path):  # a file is its gate's holder's all the while
            _make(opened, unindexed(tables, known), lambda _: False, after)
        _make(opened, tables, lambda _: False, after)
        migrate.validate(opened)
        begin_listening(opened, row_events, release)
        return migration


def switch(place: Place, release: str, *, until: float) -> None:
    """Make what two releases cannot share, while nobody asks the project anything.

    Asked again for the same release, it does nothing: it was made.

    Args:
        place: a database that was expanded.
        release: the digest of the release that goes live now, put on record with the change.
        until: of the monotonic clock; what is not made by then is undone.

    Raises:
        MigrationRefused: rows that were written meanwhile stand in the way.
        DatabaseError: the database cannot be written, or not in time.
    """
    with _in_time(until), write_tables(place) as opened:
        live = opened.live
        progress = opened.look(lambda: read_progress(live))
        if progress.release == release:
            return
        if monotonic() > until:  # others have changed tables all the while
            raise DatabaseError("too late")
        opened.limit(until)
        wanted = migrate.tables_of(progress.wanted)
        known = opened.look(lambda: known_tables(live, progress))
        tables = find_phases(known, wanted, opened.look(live.now)).switched
        settled = _settled(progress, tables, release)
        _make(opened, tables, progress.is_agreed, settled, keep=progress.approval)


def settle(place: Place, release: str) -> None:
    """Put on record which release serves the wanted tables from now on.

    What it writes counts, and what only the release before knew is hidden. `switch` does so, too.

    Raises:
        DatabaseError: the database cannot be written.
    """
    with write_tables(place) as opened:
        live = opened.live
        progress = opened.look(lambda: read_progress(live))
        if progress.wanted and progress.release != release:
            tables = opened.look(lambda: recorded_tables(live))
            settled = _settled(progress, tables, release)
            opened.transact(lambda: write_progress(live, settled))


def narrow(place: Place, release: str | None = None) -> Migration:
    """Make the rules of the live release those of the tables; what is hidden and empty goes.

    What only the release before listened to is told no more. Does nothing else unless a publication
    is settled and not narrowed yet.

    Args:
        place: the database.
        release: the digest of the one that serves; those of another change nothing.

    Raises:
        MigrationRefused: rows that were written meanwhile break a rule; the release keeps serving.
        DatabaseError: the database cannot be written.
    """
    with write_tables(place) as opened:
        live = opened.live
        finish_listening(opened, release)
        progress = opened.look(lambda: read_progress(live))
        if not progress.is_settled or release not in {None, progress.release}:
            return Migration((), "")
        found = opened.look(lambda: _hidden(live, progress.hidden))
        hidden = frozenset((one.table, one.column) for one in found if one.rows)
        wanted = migrate.tables_of(progress.wanted)
        tables = narrowed(opened.look(lambda: recorded_tables(live)), wanted, hidden)
        after = Progress(hidden=hidden, release=progress.release)
        again = replace(progress, hidden=hidden)
        try:
            made = _make(opened, tables, progress.is_agreed, after, keep=progress.approval)
            migrate.validate(opened, lambda: write_progress(live, again))
        except MigrationRefused as refused:
            raise _explain(refused) from None
        return made


def find_hidden(place: Place) -> tuple[Hidden, ...]:
    """Return what is hidden, with the number of rows that hold a value.

    Raises:
        DatabaseError: the database cannot be read.
    """
    with read_tables(place) as live:
        return _hidden(live, read_progress(live).hidden)


def delete_hidden(place: Place, keep: str) -> tuple[Hidden, ...]:
    """Narrow, then delete for good what is hidden; return what that was.

    Args:
        place: the database, served or not.
        keep: what the copy is called that is kept before a value is lost.

    Raises:
        MigrationRefused: as `narrow`.
        DatabaseError: the database, or the copy, cannot be written.
    """
    narrow(place)
    with write_tables(place) as opened:
        live = opened.live
        progress = opened.look(lambda: read_progress(live))
        # a publication that is under way may bring some of it back
        going = progress.hidden - {*find_names(migrate.tables_of(progress.wanted))}
        gone = opened.look(lambda: _hidden(live, going))
        if gone:
            tables = without(opened.look(lambda: recorded_tables(live)), going)
            after = replace(progress, hidden=progress.hidden - going)
            _make(opened, tables, lambda _: True, after, keep=keep)
    return gone


def find_release(place: Place) -> str:
    """Return the digest of the release that the tables were last changed for, or nothing."""
    with read_tables(place) as live:
        return read_progress(live).release


def _mark(live: LiveTables) -> object:
    """Return what tells the tables from what they were before or will be."""
    return live.recorded(), read_progress(live)


def _expanded(progress: Progress, found: Plan, old: Tables, wanted: Tables) -> Progress:
    """Return what is on record once the tables are expanded."""
    joined = frozenset(find_names(found.phases.switched)) - {*find_names(renamed(old, wanted))}
    fills = {("forbid null in column", *name) for name in joined}
    losses = {change.key for change in found.migration.losses}
    is_same = progress.wanted == migrate.describe(wanted)
    return Progress(
        hidden=progress.hidden,
        spare=frozenset(find_names(found.phases.expanded)) - {*find_names(old)},
        wanted=migrate.describe(wanted),
        agreed=frozenset(fills | losses) | (progress.agreed if is_same else frozenset()),
        approval=found.migration.hash if losses else progress.approval if is_same else "",
    )


def _settled(progress: Progress, tables: Tables, release: str) -> Progress:
    hidden = dropped(tables, migrate.tables_of(progress.wanted))
    return replace(progress, hidden=hidden, spare=frozenset(), release=release, is_settled=True)


def _make(
    opened: Opened,
    tables: Tables,
    is_agreed: Callable[[Change], bool],
    after: Progress,
    keep: str = "",
) -> Migration:
    """Take the database to these tables in one transaction, and write down how far that is."""
    live = opened.live
    planned = opened.look(lambda: migrate.plan_on(live, tables))
    if not all(c.risk == "destructive" and is_agreed(c) for c in planned.refused):
        raise migrate.refusal(planned)
    if keep and planned.losses:
        opened.keep(keep, planned.losing_tables)
        after = replace(after, approval=after.approval and f"{keep}-2")
    migrate.carry_out(opened, tables, planned, lambda: write_progress(live, after))
    return planned


def _without_spare(opened: Opened, wanted: Tables) -> Progress:
    """Take away what was added for another release that never went live."""
    live = opened.live
    progress = opened.look(lambda: read_progress(live))
    if not progress.spare or progress.wanted == migrate.describe(wanted):
        return progress
    known = opened.look(lambda: known_tables(live, progress))
    bare = replace(progress, spare=frozenset(), wanted="", agreed=frozenset(), approval="")
    _make(opened, known, lambda change: (change.table, change.what) in progress.spare, bare)
    return bare


def _complete(opened: Opened) -> None:
    """Make what this version keeps beside the tables, where an older one made the database."""
    live = opened.live
    if not opened.look(lambda: all(live.has_own(one) for one in live.newest)):
        opened.transact(opened.live.make_own_tables)


def _seed(opened: Opened) -> None:
    """Insert seed rows that are missing; the tables are as they were last recorded."""
    tables = opened.look(lambda: recorded_tables(opened.live))
    if any(table.seed for table in tables.values()):
        migrate.carry_out(opened, tables, Migration((), migrate.hash_of(tables)))


def _without_seed(table: Table) -> Table:
    return table.model_copy(update={"seed": []})


def _explain(refused: MigrationRefused) -> MigrationRefused:
    _, _, listed = refused.message.partition("\n")
    return MigrationRefused(
        f"rows written in the meantime violate constraints of the live release:\n{listed}",
        hint="change these rows with 'bbops db shell --write', then 'bbops db narrow'",
    )


def _hidden(live: LiveTables, names: Collection[Name]) -> tuple[Hidden, ...]:
    return tuple(Hidden(*name, _count(live, name)) for name in sorted(names))


def _count(live: LiveTables, name: Name) -> int:
    """Return how many rows a table has, or how many hold a value in a column."""
    table, column = name
    what = f'"{column}"' if column else "*"
    return int(str(live.ask(f'SELECT count({what}) FROM "{table}"')[0][0]))


@contextmanager
def _in_time(until: float) -> Iterator[None]:
    try:
        yield
    except DatabaseError:
        if monotonic() <= until:
            raise
        raise DatabaseError(
            "changing names and types took longer than requests can wait",
            hint="add a column beside the old one, fill it, and drop the old one later",
        ) from None
