"""Turn the live tables of a database into the declared ones, or report why not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from bbops.base.errors import DatabaseError, MigrationRefused
from bbops.database.diff.changes import Change, hash_changes
from bbops.database.diff.compare import Comparison
from bbops.database.diff.live_tables import LiveTables
from bbops.database.diff.preflight import Preflight
from bbops.database.diff.renames import Renames, Types, find_renames, with_kinds, with_renames
from bbops.database.diff.row_mapping import Carrier
from bbops.database.migrate.copying import seed
from bbops.database.migrate.listening import silently
from bbops.database.migrate.opened import Opened, read_tables, write_tables
from bbops.database.schema.checks import texts_of, write_checks
from bbops.database.schema.conversions import guess_type
from bbops.database.schema.ddl import Ddl
from bbops.database.schema.place import Place
from bbops.database.schema.shape import Difference, Shape, differ
from bbops.language.resources.table import RULES, Table
from bbops.language.sql.sqlite import SQLITE_CHECK

_BROKEN: Final = "broken"
"""The recorded hash if the tables lack a recorded rule."""
_COPY_DIGITS: Final = 12  # names in Postgres have at most 63 bytes
_FORMAT: Final = 2  # increase it if the same tables are described to a database in another way


@dataclass(frozen=True, slots=True)
class Migration:
    """The changes from the live tables to the declared ones, and the hash of the latter."""

    changes: tuple[Change, ...]
    spec_hash: str
    differences: tuple[Difference, ...] = field(default=(), compare=False)
    """The differences after all renames, with those that users need not see."""
    renames: Renames = field(default_factory=Renames, compare=False)
    base: str = ""
    """The live tables: their hash, and the time of their last change."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do; seed rows do not count."""
        return not self.changes and not self.differences

    @property
    def hash(self) -> str:
        """The name of this plan, the same as long as its effects are the same."""
        return hash_changes(self.changes, self.base)

    @property
    def copy_name(self) -> str:
        """The name of the copy that is kept before its losses: the first digits of its hash."""
        return self.hash[:_COPY_DIGITS]

    @property
    def losses(self) -> tuple[Change, ...]:
        """The changes that are made only after an approval."""
        return tuple(change for change in self.changes if change.risk == "destructive")

    @property
    def refused(self) -> tuple[Change, ...]:
        """The changes that prevent `apply`, unless the plan is approved."""
        return tuple(
            change for change in self.changes if change.risk in {"destructive", "impossible"}
        )

    @property
    def losing_tables(self) -> set[str]:
        """The live names of the tables that lose something."""
        return {self.renames.old_table(change.table) for change in self.losses}

    @property
    def is_waiting(self) -> bool:
        """Whether only an approval is missing."""
        return bool(self.losses) and self.losses == self.refused


def plan(place: Place, tables: Mapping[str, Table]) -> Migration:
    """Return the effects of `apply` on the current database; changes and creates nothing.

    Under a millisecond if the tables are the last applied ones, else some milliseconds and one look
    at each row that a change is about.

    Raises:
        DatabaseError: the database cannot be read.
        MigrationRefused: a default or an enum does not fit, or two indexes share a name.
    """
    with read_tables(place) as live:
        return plan_on(live, tables)


def apply(place: Place, tables: Mapping[str, Table], approved: Collection[str] = ()) -> Migration:
    """Bring the database to the declared tables in one transaction, insert seed rows.

    Creates a missing file. Waits for other writers: call it where blocking is allowed. A failure
    midway leaves everything as it was. Before anything is lost, a copy is kept.

    Args:
        place: the database.
        tables: the declared tables.
        approved: hashes of plans that may lose data.

    Returns:
        The executed plan.

    Raises:
        MigrationRefused: a change is not safe, or rows break a rule; lists every refused change.
        DatabaseError: the database cannot be written.
    """
    with write_tables(place) as opened:
        planned = opened.look(lambda: plan_on(opened.live, tables))
        if planned.is_waiting and planned.hash in approved:
            opened.keep(planned.copy_name, planned.losing_tables)
        elif planned.refused:
            raise refusal(planned)
        carry_out(opened, tables, planned)
        validate(opened)
        return planned


def carry_out(
    opened: Opened,
    tables: Mapping[str, Table],
    planned: Migration,
    also: Callable[[], None] = lambda: None,
) -> None:
    """Execute a plan, whatever it loses, in one transaction, and insert seed rows.

    Args:
        opened: the database, opened before the plan was made.
        tables: the tables of the plan.
        planned: the result of `plan_on` for them.
        also: records more in the same transaction.

    Raises:
        MigrationRefused: newly written rows, or seed rows, break a rule.
        DatabaseError: the database cannot be written.
    """
    live = opened.live

    def work() -> None:
        silently(live, lambda: _apply(live, tables, planned))
        also()

    if planned.differences:
        opened.prepare(planned.differences, live.ddl.describe(tables))
    opened.transact(work)


def validate(opened: Opened, give_up: Callable[[], None] = lambda: None) -> None:
    """Check the rows that are older than the rules of their tables, after `carry_out`.

    Args:
        opened: the database, now or later: a check that a crash prevented is made up for.
        give_up: records a rule that is taken back.

    Raises:
        MigrationRefused: rows break a rule, which is taken back; the next plan reports it missing.
        DatabaseError: the database cannot be written.
    """
    live = opened.live

    def take_back() -> None:
        live.record(_BROKEN, live.recorded()[1], live.now())
        give_up()

    broken = opened.validate(take_back)
    if broken:
        raise refusal(Migration(broken, _BROKEN))


def insert_seed(place: Place) -> dict[str, int]:
    """Insert the seed rows of the last applied tables that are missing, in one transaction.

    Returns:
        The number of inserted rows for each table with seed rows. Waits for writers, as `apply`.

    Raises:
        MigrationRefused: a row breaks a rule.
        DatabaseError: the database cannot be written, or no project's tables were made in it.
    """
    with write_tables(place) as opened:
        live, added = opened.live, dict[str, int]()
        insert = partial(_insert_seed, live, place, added)
        opened.transact(lambda: silently(live, insert))
        return added


def plan_on(live: LiveTables, tables: Mapping[str, Table]) -> Migration:
    """Return the changes from the live tables to these; see `plan`."""
    spec_hash = hash_of(tables)
    recorded_hash, spec, applied_at = live.recorded()
    if recorded_hash == spec_hash:
        return Migration((), spec_hash)
    found = _compare(live, tables, types_of(spec))
    base = recorded_hash + applied_at
    return Migration(found.changes(), spec_hash, found.differences, found.renames, base)


def _compare(live: LiveTables, tables: Mapping[str, Table], types: Types) -> Comparison:
    want = live.ddl.describe(tables)  # refuses invalid defaults before they are used
    have = with_kinds(live.read(), types)
    renames = find_renames(have, tables)
    renamed = with_renames(have, renames)
    differences = differ(renamed, want)
    conversions = live.convert(_changed_types(live.ddl, renamed, want, differences, renames))
    carrier = Carrier(live.ddl, conversions.converted, live.now())
    carried = carrier.carry_rows(have, tables, renames)
    rows = Preflight(live.ask, have, live.name, tables, carried)
    return Comparison(
        tables, renamed, want, differences, renames, rows, live.ddl, conversions
    )  # fmt: skip


def _changed_types(
    ddl: Ddl,
    renamed: Shape,
    want: Shape,
    differences: Collection[Difference],
    renames: Renames,
) -> list[tuple[str, str, str, str]]:
    """Return live table, live column, its old type and its new one."""
    found = []
    for difference in differences:
        if difference.kind == "type":
            old, new = (of[difference.table].columns[difference.what] for of in (renamed, want))
            kind = old.kind or guess_type(ddl.storage, old.type, new.kind)
            table, column = (
                renames.old_table(difference.table),
                renames.old_column(difference.table, difference.what),
            )
            found.append((table, column, kind, new.kind))
    return found


def _apply(live: LiveTables, tables: Mapping[str, Table], migration: Migration) -> None:
    live.make_own_tables()
    recorded_hash, spec, _ = live.recorded()
    now = live.now()
    if not migration.is_empty:
        _make(live, tables, types_of(spec), migration.differences)
    if recorded_hash != migration.spec_hash:
        live.record(migration.spec_hash, describe(tables), now)
    if any(seed(live, tables, now).values()) or not migration.is_empty:
        live.finish_rows(tables)


def refusal(migration: Migration) -> MigrationRefused:
    """Return the error that lists the refused changes, and the fix of each."""
    listed = "\n".join(f"  {change}" for change in migration.refused)
    cures = dict.fromkeys(change.cure for change in migration.refused if change.cure)
    if migration.is_waiting:
        cures[f"approve it with 'bbops db approve {migration.hash}', or keep what is there"] = None
    elif migration.losses:
        cures["keep what is there and add a new column or table beside it"] = None
    return MigrationRefused(f"these table changes need approval:\n{listed}", hint="; ".join(cures))


def _make(
    live: LiveTables,
    tables: Mapping[str, Table],
    types: Types,
    differences: Collection[Difference],
) -> None:
    want = live.ddl.describe(tables)
    before = with_kinds(live.read(), types)
    renames = find_renames(before, tables)
    live.make_renames(renames)
    live.lock({difference.table for difference in differences if difference.kind != "add table"})
    have = with_renames(before, renames)
    conversions = live.convert(_changed_types(live.ddl, have, want, differences, Renames()))
    carrier = Carrier(live.ddl, conversions.strictly, live.now())
    live.alter(want, differences, carrier.carry_rows(have, tables, Renames()))
    left = differ(live.read(), want)
    if left:
        listed = ", ".join(
            f"{difference.kind} '{difference.table}.{difference.what}'".rstrip(".")
            for difference in left
        )
        raise MigrationRefused(f"the tables differ from the declared ones afterwards: {listed}")


def describe(tables: Mapping[str, Table]) -> str:
    """Return the description of declared tables as JSON, which `tables_of` reads."""
    dumped = {
        name: table.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"checks", *RULES}
        )
        | ({"checks": texts_of(table)} if table.checks else {})
        for name, table in tables.items()
    }
    checks = {  # as SQL, too: it may be written in another way one day
        name: sorted(rule.sql for rule in write_checks(name, table, SQLITE_CHECK))
        for name, table in tables.items()
        if table.checks
    }
    decimals = {name: kept for name, table in tables.items() if (kept := _unique_decimals(table))}
    keys = {"keys": decimals} if decimals else {}
    return json.dumps(
        {"format": _FORMAT, "tables": dumped, "checks": checks, **keys},
        sort_keys=True, separators=(",", ":"), default=str,
    )  # fmt: skip


def _unique_decimals(table: Table) -> dict[str, str]:
    """Return the SQLite index expressions of a table's unique decimals, by column."""
    unique = {name for index in table.indexes.values() if index.unique for name in index.columns}
    return {
        name: SQLITE_CHECK.unique_key(name, column.type)
        for name, column in table.columns.items()
        if column.type == "decimal" and (column.unique or name in unique)
    }


def tables_of(description: str) -> dict[str, Table]:
    """Return the tables from a description by `describe`; no tables from an empty text."""
    found = json.loads(description)["tables"] if description else {}
    return {name: Table.model_validate(table) for name, table in found.items()}


def hash_of(tables: Mapping[str, Table]) -> str:
    """Return the recorded hash of a database with these tables."""
    return hashlib.sha256(describe(tables).encode()).hexdigest()


def types_of(spec: str) -> dict[str, dict[str, str]]:
    """Return each column's declared type at its creation."""
    declared: dict[str, Any] = json.loads(spec)["tables"] if spec else {}
    return {
        name: {key: column["type"] for key, column in table["columns"].items()}
        for name, table in declared.items()
    }


def read_spec(live: LiveTables, place: Place) -> str:
    """Return the description of the last applied tables.

    Raises:
        DatabaseError: no project's tables were ever made here.
    """
    spec = live.recorded()[1]
    if not spec:
        raise DatabaseError(
            f"'{place}' has no tables of a project yet", hint="the first release creates them"
        )
    return spec


def _insert_seed(live: LiveTables, place: Place, added: dict[str, int]) -> None:
    tables = tables_of(read_spec(live, place))
    added.update(seed(live, tables, live.now()))
    if any(added.values()):
        live.finish_rows(tables)
