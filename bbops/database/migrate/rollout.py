"""Take a database to the tables of a new release while the old one serves, in phases.

`expand` comes before the swap, `switch` at it if the releases cannot share a name or a type, and
`narrow` after the old release has answered its last request. Each is one transaction, and is
recorded in the database itself: after a crash, the next process continues from there.
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
from bbops.database.migrate.listening import begin_listening, find_listening, finish_listening
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
from bbops.database.migrate.rollout_plan import (
    RolloutPlan,
    known_tables,
    plan_rollout,
    recorded_tables,
)
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


def plan(place: Place, wanted: Mapping[str, Table], *, seconds: float | None = None) -> RolloutPlan:
    """Return the effects of `expand`, `switch` and `narrow`; changes nothing.

    Args:
        place: the database.
        wanted: the declared tables.
        seconds: the longest time for looking at rows; None for no limit.

    Raises:
        DatabaseError: the database cannot be read, or not in time.
        MigrationRefused: the tables cannot be described, or have another type than hidden ones.
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


def rehearse(place: Place, plan: RolloutPlan) -> None:
    """Create the tables of the new release in an empty database, as it will find them."""
    bare = {name: _without_seed(table) for name, table in plan.phases.switched.items()}
    migrate.apply(place, bare)  # seed rows may refer to rows that only the live database has


def expand(
    place: Place, wanted: Mapping[str, Table], approved: Collection[str] = (), *,
    row_events: ByTable = MappingProxyType({}), release: str = "",
) -> Migration:  # fmt: skip
    """Make the changes that both releases can live with, and return the whole plan.

    The plan looks at rows while others write; each phase looks again at its own rows.

    Args:
        place: the database; a missing file is created.
        wanted: the declared tables.
        approved: hashes of plans that may lose data.
        row_events: the row changes that the new release receives.
        release: the digest of the new release.

    Raises:
        MigrationRefused: a change is not safe, or rows break a rule; lists every refused change.
        DatabaseError: the database cannot be written.
    """
    with read_tables(place) as looked:
        found, planned_on = plan_rollout(looked, wanted), _mark(looked)
    with write_tables(place) as opened:
        live = opened.live
        if opened.look(lambda: _mark(live)) != planned_on:  # another publication has changed them
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
        if not isinstance(place, Path):  # a file belongs to the holder of its gate anyway
            _make(opened, unindexed(tables, known), lambda _: False, after)
        _make(opened, tables, lambda _: False, after)
        migrate.validate(opened)
        begin_listening(opened, row_events, release)
        return migration


def switch(place: Place, release: str, *, until: float) -> None:
    """Make the changes that the releases cannot share, while requests wait.

    A second call for the same release does nothing.

    Args:
        place: an expanded database.
        release: the digest of the release that goes live now, recorded with the change.
        until: a time of the monotonic clock; later changes are undone.

    Raises:
        MigrationRefused: newly written rows prevent a change.
        DatabaseError: the database cannot be written, or not in time.
    """
    with _in_time(until), write_tables(place) as opened:
        live = opened.live
        progress = opened.look(lambda: read_progress(live))
        if progress.release == release:
            return
        if monotonic() > until:  # other programs kept changing the tables
            raise DatabaseError("too late")
        opened.limit(until)
        wanted = migrate.tables_of(progress.wanted)
        known = opened.look(lambda: known_tables(live, progress))
        tables = find_phases(known, wanted, opened.look(live.now)).switched
        settled = _settled(progress, tables, release)
        _make(opened, tables, progress.is_agreed, settled, keep=progress.approval)


def settle(place: Place, release: str) -> None:
    """Record the release that serves the wanted tables from now on.

    Its writes count, and names that only the old release knew are hidden. `switch` does so, too.

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
    """Apply the rules of the live release to the tables; hidden and empty names are removed.

    Events that only the old release waited for are no longer reported. Does nothing else unless a
    publication is settled and not narrowed yet.

    Args:
        place: the database.
        release: the digest of the serving release; for another one nothing changes.

    Raises:
        MigrationRefused: newly written rows break a rule; the release keeps serving.
        DatabaseError: the database cannot be written.
    """
    with write_tables(place) as opened:
        live = opened.live
        finish_listening(opened, release)
        progress = opened.look(lambda: read_progress(live))
        if not progress.is_settled or release not in {None, progress.release}:
            return Migration((), "")
        found = opened.look(lambda: _hidden(live, progress.hidden))
        hidden = frozenset(
            (hidden_name.table, hidden_name.column) for hidden_name in found if hidden_name.rows
        )
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
    """Return the hidden tables and columns, with the number of rows that hold a value.

    Raises:
        DatabaseError: the database cannot be read.
    """
    with read_tables(place) as live:
        return _hidden(live, read_progress(live).hidden)


def delete_hidden(place: Place, keep: str) -> tuple[Hidden, ...]:
    """Narrow, then delete the hidden tables and columns for good; return them.

    Args:
        place: the database, served or not.
        keep: the name of the copy before a value is lost.

    Raises:
        MigrationRefused: as `narrow`.
        DatabaseError: the database, or the copy, cannot be written.
    """
    narrow(place)
    with write_tables(place) as opened:
        live = opened.live
        progress = opened.look(lambda: read_progress(live))
        # a running publication may bring some of it back
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
    """Return a value that changes with every change of the tables."""
    return live.recorded(), read_progress(live)


def _expanded(progress: Progress, found: RolloutPlan, old: Tables, wanted: Tables) -> Progress:
    """Return the record for expanded tables."""
    joined = frozenset(find_names(found.phases.switched)) - {*find_names(renamed(old, wanted))}
    fills = {("forbid null in column", *name) for name in joined}
    losses = {change.key for change in found.migration.losses}
    is_same = progress.wanted == migrate.describe(wanted)
    return Progress(
        hidden=progress.hidden,
        spare=frozenset(find_names(found.phases.expanded)) - {*find_names(old)},
        wanted=migrate.describe(wanted),
        agreed=frozenset(fills | losses) | (progress.agreed if is_same else frozenset()),
        approval=found.migration.copy_name if losses else progress.approval if is_same else "",
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
    """Take the database to these tables in one transaction, and record the progress."""
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
    """Remove additions for another release that never went live."""
    live = opened.live
    progress = opened.look(lambda: read_progress(live))
    if not progress.spare or progress.wanted == migrate.describe(wanted):
        return progress
    known = opened.look(lambda: known_tables(live, progress))
    bare = replace(progress, spare=frozenset(), wanted="", agreed=frozenset(), approval="")
    _make(opened, known, lambda change: (change.table, change.what) in progress.spare, bare)
    return bare


def _complete(opened: Opened) -> None:
    """Create this version's own tables in a database of an older version."""
    live = opened.live
    if not opened.look(lambda: all(live.has_own(table) for table in live.newest)):
        opened.transact(opened.live.make_own_tables)


def _seed(opened: Opened) -> None:
    """Insert missing seed rows; the tables are the last recorded ones."""
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
    """Return the number of rows of a table, or of values in a column."""
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
