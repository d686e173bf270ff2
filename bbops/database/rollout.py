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
from typing import Final

from bbops.database import migrate
from bbops.database.changes import Change, When
from bbops.database.keep import keep_copy, kept_path
from bbops.database.migrate import Migration
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
from bbops.database.progress import Progress, read_progress, write_progress
from bbops.errors import DatabaseError, MigrationRefused
from bbops.resources.table import Table

_OPERATIONS_PER_LOOK: Final = 100_000


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


def plan(path: Path, wanted: Mapping[str, Table]) -> Plan:
    """Return what `expand`, `switch` and `narrow` would do; changes nothing.

    Raises:
        DatabaseError: the file cannot be read.
        MigrationRefused: the tables cannot be described, or are of another type than hidden ones.
    """
    with migrate.reading(path) as live:
        return _plan(live, wanted)


def rehearse(path: Path, plan: Plan) -> None:
    """Make an empty file with the tables that the new release meets when it goes live."""
    tables = {name: table.model_copy(update={"seed": []}) for name, table in
              plan.phases.switched.items()}  # fmt: skip
    migrate.apply(path, tables)  # seed rows may refer to rows that only the live file has


def expand(path: Path, wanted: Mapping[str, Table], approved: Collection[str] = ()) -> Migration:
    """Make what both releases can live with, and return the whole plan.

    Args:
        path: the file, which is made if it is missing.
        wanted: as declared.
        approved: hashes of plans that may lose what they say.

    Raises:
        MigrationRefused: a change is not safe, or rows break a rule; lists every refused change.
        DatabaseError: the file cannot be written.
    """
    with migrate.changing(path) as live, migrate.transaction(live):
        found = _plan(live, wanted)
        if found.is_done:
            _seed(live, wanted)
            return found.migration
        migration = found.migration
        if migration.refused and not (migration.is_waiting and migration.hash in approved):
            raise migrate.refusal(migration)
        progress = read_progress(live)
        old = _without_spare(live, progress)
        _take(live, found.phases.expanded, lambda c: (c.table, c.what) in progress.spare)
        write_progress(live, _expanded(progress, found, old, wanted))
        return migration


def switch(path: Path, release: str, *, until: float) -> None:
    """Make what two releases cannot share, while nobody asks the project anything.

    Asked again for the same release, it does nothing: it was made.

    Args:
        path: a file that was expanded.
        release: the digest of the release that goes live now, put on record with the change.
        until: of the monotonic clock; what is not made by then is undone.

    Raises:
        MigrationRefused: rows that were written meanwhile stand in the way.
        DatabaseError: the file cannot be written, or not in time.
    """
    with _in_time(until), migrate.changing(path) as live:
        live.set_progress_handler(lambda: monotonic() > until, _OPERATIONS_PER_LOOK)
        progress = read_progress(live)
        if progress.release == release:
            return
        if monotonic() > until:  # the gate was another's
            raise DatabaseError("too late")
        wanted = migrate.tables_of(progress.wanted)
        old = _without_spare(live, progress)
        tables = find_phases(old, wanted, migrate.time_of(live)).switched
        _keep(live, path, tables, progress)
        with migrate.transaction(live):
            _take(live, tables, lambda change: change.key in progress.agreed)
            write_progress(live, replace(_settled(progress, tables, wanted), release=release))


def settle(path: Path) -> None:
    """Put on record that the release after is the one that serves.

    From now on what it wrote counts, and what only the release before knew is hidden.
    """
    with migrate.changing(path) as live, migrate.transaction(live):
        progress = read_progress(live)
        if progress.wanted and not progress.is_settled:
            wanted = migrate.tables_of(progress.wanted)
            write_progress(live, _settled(progress, _tables(live), wanted))


def narrow(path: Path) -> Migration:
    """Make the rules of the live release those of the tables; what is hidden and empty goes.

    Does nothing unless a publication is settled and not narrowed yet.

    Raises:
        MigrationRefused: rows that were written meanwhile break a rule; the release serves on.
        DatabaseError: the file cannot be written.
    """
    with migrate.changing(path) as live:
        progress = read_progress(live)
        if not progress.is_settled:
            return Migration((), "")
        wanted = migrate.tables_of(progress.wanted)
        tables = narrowed(_tables(live), wanted, progress.hidden)
        _keep(live, path, tables, progress)
        with migrate.transaction(live):
            hidden = frozenset(name for name in progress.hidden if _count(live, name))
            tables = narrowed(_tables(live), wanted, hidden)
            try:
                made = _take(live, tables, lambda change: change.key in progress.agreed)
            except MigrationRefused as refused:
                raise _explain(refused) from None
            write_progress(live, Progress(hidden=hidden, release=progress.release))
    return made


def find_hidden(path: Path) -> tuple[Hidden, ...]:
    """Return what is hidden, with the number of rows that hold a value.

    Raises:
        DatabaseError: the file cannot be read.
    """
    with migrate.reading(path) as live:
        return _hidden(live, read_progress(live).hidden)


def delete_hidden(path: Path, keep: str) -> tuple[Hidden, ...]:
    """Narrow, then delete for good what is hidden; return what that was.

    Args:
        path: the file, served or not.
        keep: the copy made before is called `<file>.before-<keep>`.

    Raises:
        MigrationRefused: as `narrow`.
        DatabaseError: the file, or the copy, cannot be written.
    """
    narrow(path)
    with migrate.changing(path) as live:
        progress = read_progress(live)
        wanted = frozenset(find_names(migrate.tables_of(progress.wanted)))
        going = progress.hidden - wanted  # a publication under way may bring some of it back
        gone = _hidden(live, going)
        if any(one.rows for one in gone):
            keep_copy(live, path, keep)
        with migrate.transaction(live):
            if gone:
                _take(live, without(_tables(live), going), lambda _: True)
            write_progress(live, replace(progress, hidden=progress.hidden - going))
    return gone


def find_release(path: Path) -> str:
    """Return the digest of the release that names and types were last changed for, or nothing."""
    with migrate.reading(path) as live:
        return read_progress(live).release


def _plan(live: sqlite3.Connection, wanted: Tables) -> Plan:
    progress, description = read_progress(live), migrate.describe(wanted)
    recorded_hash, _ = migrate.read_record(live)
    done = _done(Migration((), migrate.hash_of(wanted)), progress)
    if progress.is_settled and progress.wanted == description:
        return done
    if not progress.wanted and not progress.hidden and recorded_hash == done.migration.spec_hash:
        return done  # the way of nearly every publication: one row is read
    old = _without_spare(live, progress)
    as_after, was_hidden = renamed(old, wanted), renamed_names(progress.hidden, old, wanted)
    hidden = was_hidden & dropped(old, wanted)
    target = narrowed(as_after, wanted, hidden)
    is_same = hidden == was_hidden and recorded_hash == migrate.hash_of(target)
    if is_same and not progress.wanted:
        return done
    _refuse_other_types(as_after, wanted, was_hidden)
    migration = migrate.plan_on(live, target)
    phases = find_phases(old, wanted, migrate.time_of(live))
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
    if change.kind in {"drop table", "drop column"}:
        if (change.table, change.what) in spare:
            return Change(*change.key, phase="before")
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


def _take(
    live: sqlite3.Connection, tables: Tables, is_agreed: Callable[[Change], bool]
) -> Migration:
    return migrate.apply_on(live, tables, migrate.plan_on(live, tables), is_agreed)


def _seed(live: sqlite3.Connection, wanted: Tables) -> None:
    """Insert seed rows that are missing; the tables are as they were last recorded."""
    tables = _tables(live)
    if not any(table.seed for table in wanted.values()):
        return
    _take(live, tables, lambda _: False)


def _tables(live: sqlite3.Connection) -> dict[str, Table]:
    return migrate.tables_of(migrate.read_record(live)[1])


def _without_spare(live: sqlite3.Connection, progress: Progress) -> dict[str, Table]:
    return without(_tables(live), progress.spare)


def _keep(live: sqlite3.Connection, path: Path, tables: Tables, progress: Progress) -> None:
    """Keep the data, once, before something approved is lost; what is hidden is not."""
    if not progress.approval or kept_path(path, progress.approval).exists():
        return
    if any(change.key in progress.agreed for change in migrate.plan_on(live, tables).losses):
        keep_copy(live, path, progress.approval)


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


def _hidden(live: sqlite3.Connection, names: Collection[Name]) -> tuple[Hidden, ...]:
    return tuple(Hidden(*name, _count(live, name)) for name in sorted(names))


def _count(live: sqlite3.Connection, name: Name) -> int:
    table, column = name
    query = f'SELECT count({f"{chr(34)}{column}{chr(34)}" if column else "*"}) FROM "{table}"'
    return int(live.execute(query).fetchone()[0])


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
