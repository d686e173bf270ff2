"""Take a database to the tables of a new release while the one before serves, a phase at a time.

`expand` comes before the swap, `switch` at it where two releases cannot share a name or a type, and
`narrow` once the release before has answered its last request. Each is one transaction, and each
is found in the file itself: whoever is killed, the next one goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic

from bbops.database import migrate
from bbops.database.changes import Change, When
from bbops.database.live_tables import LiveTables
from bbops.database.migrate import Migration
from bbops.database.opened import Opened, read_tables, write_tables
from bbops.database.phases import (
    Name,
    Phases,
    Tables,
    dropped,
    find_names,
    find_phases,
    narrowed,
    renamed,
    renamed_names,
    shares_type,
    trait_of,
    without,
)
from bbops.database.place import Place
from bbops.database.progress import Progress, read_progress, write_progress
from bbops.errors import DatabaseError, MigrationRefused
from bbops.resources.table import Table


@dataclass(frozen=True, slots=True)
class Plan:
    """What a publication would do to the tables, all phases of it."""

    migration: Migration
    phases: Phases
    hidden: frozenset[Name]
    """What is hidden now, in the file as it is."""

    is_done: bool = False
    """Whether there is nothing to do before the swap, or at it."""

    is_first: bool = False
    """Whether there are no tables yet, so that nothing can be hurt."""

    is_behind: bool = False
    """Whether a publication before this one is not narrowed yet."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A column that no release declares, or a table if `column` is empty, and its values."""

    table: str
    column: str
    rows: int

    def __str__(self) -> str:
        return f"{self.table}.{self.column}" if self.column else self.table


def plan(place: Place, wanted: Mapping[str, Table]) -> Plan:
    """Return what `expand`, `switch` and `narrow` would do; changes nothing.

    Raises:
        DatabaseError: the database cannot be read.
        MigrationRefused: the tables cannot be described, or are of another type than hidden ones.
    """
    with read_tables(place) as live:
        return _plan(live, wanted)


def rehearse(place: Place, plan: Plan) -> None:
    """Make, in an empty database, the tables that the new release meets when it goes live."""
    bare = {name: _without_seed(table) for name, table in plan.phases.switched.items()}
    migrate.apply(place, bare)  # seed rows may refer to rows that only the live database has


def expand(place: Place, wanted: Mapping[str, Table], approved: Collection[str] = ()) -> Migration:
    """Make what both releases can live with, and return the whole plan.

    Args:
        place: the database; a file is made if it is missing.
        wanted: as declared.
        approved: hashes of plans that may lose what they say.

    Raises:
        MigrationRefused: a change is not safe, or rows break a rule; lists every refused change.
        DatabaseError: the database cannot be written.
    """
    with write_tables(place) as opened:
        live = opened.live
        found = opened.look(lambda: _plan(live, wanted))
        if found.is_done:
            _seed(opened)
            return found.migration
        migration = found.migration
        if migration.refused and not (migration.is_waiting and migration.hash in approved):
            raise migrate.refusal(migration)
        progress = _without_spare(opened, wanted)
        known = opened.look(lambda: _known(live, progress))
        after = _expanded(progress, found, known, wanted)
        _make(opened, found.phases.expanded, lambda _: False, after)
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
        known = opened.look(lambda: _known(live, progress))
        tables = find_phases(known, wanted, opened.look(live.now)).switched
        settled = replace(_settled(progress, tables, wanted), release=release)
        _make(opened, tables, progress.is_agreed, settled, keep=progress.approval)


def settle(place: Place) -> None:
    """Put on record that the release after is the one that serves.

    From now on what it wrote counts, and what only the release before knew is hidden.
    """
    with write_tables(place) as opened:
        live = opened.live
        progress = opened.look(lambda: read_progress(live))
        if progress.wanted and not progress.is_settled:
            wanted = migrate.tables_of(progress.wanted)
            settled = _settled(progress, opened.look(lambda: _recorded(live)), wanted)
            opened.transact(lambda: write_progress(live, settled))


def narrow(place: Place) -> Migration:
    """Make the rules of the live release those of the tables; what is hidden and empty goes.

    Does nothing unless a publication is settled and not narrowed yet.

    Raises:
        MigrationRefused: rows that were written meanwhile break a rule; the release serves on.
        DatabaseError: the database cannot be written.
    """
    with write_tables(place) as opened:
        live = opened.live
        progress = opened.look(lambda: read_progress(live))
        if not progress.is_settled:
            return Migration((), "")
        found = opened.look(lambda: _hidden(live, progress.hidden))
        hidden = frozenset((one.table, one.column) for one in found if one.rows)
        wanted = migrate.tables_of(progress.wanted)
        tables = narrowed(opened.look(lambda: _recorded(live)), wanted, hidden)
        after = Progress(hidden=hidden, release=progress.release)
        try:
            return _make(opened, tables, progress.is_agreed, after, keep=progress.approval)
        except MigrationRefused as refused:
            raise _explain(refused) from None


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
            tables = without(opened.look(lambda: _recorded(live)), going)
            after = replace(progress, hidden=progress.hidden - going)
            _make(opened, tables, lambda _: True, after, keep=keep)
    return gone


def find_release(place: Place) -> str:
    """Return the digest of the release that names and types were last changed for, or nothing."""
    with read_tables(place) as live:
        return read_progress(live).release


def _plan(live: LiveTables, wanted: Tables) -> Plan:
    progress, description = read_progress(live), migrate.describe(wanted)
    recorded_hash = live.recorded()[0]
    done = _done(Migration((), migrate.hash_of(wanted)), progress)
    if progress.is_settled and progress.wanted == description:
        return done
    if not progress.wanted and not progress.hidden and recorded_hash == done.migration.spec_hash:
        return done  # the way of nearly every publication: two rows are read
    old = _known(live, progress)
    as_after, was_hidden = renamed(old, wanted), renamed_names(progress.hidden, old, wanted)
    hidden = was_hidden & dropped(old, wanted)
    target = narrowed(as_after, wanted, hidden)
    is_same = hidden == was_hidden and recorded_hash == migrate.hash_of(target)
    if is_same and not progress.wanted:
        return done
    _refuse_other_types(as_after, wanted, was_hidden)
    migration = migrate.plan_on(live, target)
    phases = find_phases(old, wanted, live.now())
    spare = renamed_names(progress.spare, old, wanted)
    agreed = progress.agreed if progress.wanted == description else frozenset()
    changes = tuple(_placed(change, phases, wanted, spare, agreed) for change in migration.changes)
    migration = replace(migration, changes=changes)
    is_first, is_behind = not recorded_hash, progress.is_settled
    return Plan(migration, phases, progress.hidden, is_first=is_first, is_behind=is_behind)


def _done(nothing: Migration, progress: Progress) -> Plan:
    return Plan(
        nothing, Phases({}, {}), progress.hidden, is_done=True, is_behind=progress.is_settled
    )


def _placed(
    change: Change,
    phases: Phases,
    wanted: Tables,
    spare: frozenset[Name],
    agreed: Collection[tuple[str, str, str]],
) -> Change:
    """Return a change with its phase; what is spare or agreed on is no loss."""
    phase: When = "after"
    if (change.table, change.what) in spare:
        return Change(*change.key, phase="before")
    if change.kind in {"drop table", "drop column"}:
        phase = "hidden" if change.risk == "destructive" else "after"
    elif change.kind.startswith(("create", "add")):
        phase = "before" if trait_of(change, phases.expanded) is not None else "at"
    else:
        trait = trait_of(change, wanted)
        places: list[tuple[When, Tables]] = [("before", phases.expanded), ("at", phases.switched)]
        phase = next((when for when, found in places if trait_of(change, found) == trait), "after")
    risk = "safe" if change.key in agreed and change.risk == "destructive" else change.risk
    return replace(change, phase=phase, risk=risk)


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


def _settled(progress: Progress, tables: Tables, wanted: Tables) -> Progress:
    hidden = dropped(tables, wanted)
    return replace(progress, hidden=hidden, spare=frozenset(), is_settled=True)


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
    known = opened.look(lambda: _known(live, progress))
    bare = replace(progress, spare=frozenset(), wanted="", agreed=frozenset(), approval="")
    _make(opened, known, lambda change: (change.table, change.what) in progress.spare, bare)
    return bare


def _seed(opened: Opened) -> None:
    """Insert seed rows that are missing; the tables are as they were last recorded."""
    tables = opened.look(lambda: _recorded(opened.live))
    if any(table.seed for table in tables.values()):
        migrate.carry_out(opened, tables, Migration((), migrate.hash_of(tables)))


def _recorded(live: LiveTables) -> dict[str, Table]:
    return migrate.tables_of(live.recorded()[1])


def _known(live: LiveTables, progress: Progress) -> dict[str, Table]:
    """Return the live tables without what was added for a release that never went live."""
    return without(_recorded(live), progress.spare)


def _without_seed(table: Table) -> Table:
    return table.model_copy(update={"seed": []})


def _refuse_other_types(live: Tables, wanted: Tables, hidden: Collection[Name]) -> None:
    for table, column in sorted(hidden):
        old, new = live.get(table), wanted.get(table)
        if old is None or new is None:
            continue
        for key in [column] if column else old.columns.keys() & new.columns.keys():
            was, now = old.columns.get(key), new.columns.get(key)
            if was is not None and now is not None and not shares_type(was, now):
                raise MigrationRefused(
                    f"column '{table}.{key}' is hidden with values of type {was.type},"
                    f" and declared as {now.type}",
                    hint="'bbops db narrow' deletes what is hidden for good",
                )


def _explain(refused: MigrationRefused) -> MigrationRefused:
    _, _, listed = refused.message.partition("\n")
    return MigrationRefused(
        f"rows that were written meanwhile break rules of the live release:\n{listed}",
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
            "names and types were not changed in the time that requests can wait",
            hint="add a column beside the old one, fill it, and drop the old one later",
        ) from None
