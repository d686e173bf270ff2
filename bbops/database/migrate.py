"""Make the live tables of a SQLite file the declared ones, or say why not. Nothing in between.

Importing this loads no SQLAlchemy; a schema that did not change never does.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from bbops.database import alter
from bbops.database.carry import carry
from bbops.database.changes import Change, hash_changes
from bbops.database.compare import Comparison, compare
from bbops.database.connection import connect
from bbops.database.conversions import add_conversions
from bbops.database.gate import Gate
from bbops.database.keep import keep_copy
from bbops.database.own import make_own_tables
from bbops.database.preflight import Preflight
from bbops.database.renames import Renames, Types, find_renames, rename_types, renamed_schema
from bbops.database.seed import seed
from bbops.errors import DatabaseError, MigrationRefused
from bbops.resources.table import Table

_FORMAT: Final = 1  # count up when the same tables are described to SQLite in another way
_RECORD: Final = (
    "CREATE TABLE IF NOT EXISTS _bbops_schema (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " hash TEXT NOT NULL, spec TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
)
_IS_RECORDED: Final = "SELECT 1 FROM sqlite_master WHERE name = '_bbops_schema'"
_NOW: Final = "SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'"


@dataclass(frozen=True, slots=True)
class Migration:
    """What leads from the live tables to the declared ones, and the hash of the latter."""

    changes: tuple[Change, ...]
    spec_hash: str
    rebuilt: frozenset[str] = frozenset()
    """Tables that are written anew, row by row: some 1.4 µs a row."""

    base: str = ""
    """The live tables: their hash, and when they became what they are."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done; seed rows do not count."""
        return not self.changes and not self.rebuilt

    @property
    def hash(self) -> str:
        """The name of this plan, the same for as long as it would do the same."""
        return hash_changes(self.changes, self.base)

    @property
    def losses(self) -> tuple[Change, ...]:
        """The changes that are made only after an approval."""
        return tuple(change for change in self.changes if change.risk == "destructive")

    @property
    def refused(self) -> tuple[Change, ...]:
        """The changes that keep `apply` from doing anything, unless the plan is approved."""
        return tuple(change for change in self.changes if change.risk != "safe")

    @property
    def is_waiting(self) -> bool:
        """Whether an approval is all that it lacks."""
        return bool(self.losses) and self.losses == self.refused


def plan(path: Path, tables: Mapping[str, Table]) -> Migration:
    """Return what `apply` would do to the file as it is now; changes and creates nothing.

    Under a millisecond when the tables are those of the last `apply`, else some 0.1 s, and 0.6 s
    more the first time in a process.

    Raises:
        DatabaseError: the file cannot be read.
        MigrationRefused: the tables cannot be described, see `bbops.database.schema.metadata`.
    """
    with reading(path) as live:
        return plan_on(live, tables)


def apply(path: Path, tables: Mapping[str, Table], approved: Collection[str] = ()) -> Migration:
    """Bring the file to the declared tables in one transaction, insert seed rows, return the plan.

    Makes the file if it is missing. Waits for the gate: call it where blocking is allowed. What
    fails midway leaves the file as it was. Before anything is lost the file is kept, see `keep`.

    Args:
        path: the file.
        tables: as declared.
        approved: hashes of plans that may lose what they say.

    Raises:
        MigrationRefused: a change is not safe, or rows break a rule; lists every refused change.
        DatabaseError: the file cannot be written.
    """
    with changing(path) as live:
        _keep(live, path, tables, approved)
        with transaction(live):
            migration = plan_on(live, tables)
            is_approved = migration.is_waiting and migration.hash in approved
            return apply_on(live, tables, migration, lambda _: is_approved)


def insert_seed(path: Path) -> dict[str, int]:
    """Insert the seed rows of the last applied tables that are missing, in one transaction.

    Returns:
        How many rows each table got that declares some. Waits for the gate, as `apply` does.

    Raises:
        MigrationRefused: a row breaks a rule, such as a unique column of a row that is there.
        DatabaseError: the file cannot be written, or no project's tables were ever made in it.
    """
    gate = Gate(path)
    with closing(gate), gate, closing(connect(path)) as live:
        try:
            live.execute("PRAGMA foreign_keys = OFF")  # as in `apply`
            with transaction(live):
                return _insert_seed(live, path)
        except sqlite3.Error as error:
            raise DatabaseError(f"cannot write database '{path}': {error}") from error


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that reads the file, or an empty database where there is none.

    Raises:
        DatabaseError: the file cannot be read.
    """
    missing = not path.exists()
    with closing(_in_memory() if missing else connect(path, reads=True)) as live:
        try:
            yield live
        except sqlite3.Error as error:
            raise DatabaseError(f"cannot read database '{path}': {error}") from error


@contextmanager
def changing(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that may change the tables of the file, which is made if it is missing.

    Raises:
        DatabaseError: the file cannot be written.
    """
    gate = Gate(path)
    with closing(gate), gate, closing(connect(path, create=True)) as live:
        try:
            # tables are made and seeded in any order; the check at the end is of everything
            live.execute("PRAGMA foreign_keys = OFF")
            yield live
        except sqlite3.Error as error:
            raise DatabaseError(f"cannot migrate database '{path}': {error}") from error


def warm() -> None:
    """Import what a changed schema needs, 0.6 s: for a process that has time now."""
    _schema()


def _schema() -> ModuleType:
    return importlib.import_module("bbops.database.schema")


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


@contextmanager
def transaction(live: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block does, all of it or nothing."""
    live.execute("BEGIN IMMEDIATE")
    try:
        yield
        live.execute("COMMIT")
    except BaseException:
        live.rollback()
        raise


def plan_on(live: sqlite3.Connection, tables: Mapping[str, Table]) -> Migration:
    """Return what leads from the tables of a connection to these; as `plan`."""
    spec_hash = hash_of(tables)
    recorded_hash, types = _recorded(live)
    if recorded_hash == spec_hash:
        return Migration((), spec_hash)
    found = _compare(live, tables, types, find_renames(live, tables))
    return Migration(found.changes, spec_hash, found.rebuilt, _base(live))


def _compare(
    live: sqlite3.Connection, tables: Mapping[str, Table], types: Types, renames: Renames
) -> Comparison:
    schema = _schema()
    described = schema.metadata(tables)  # refuses defaults that do not fit, before they are used
    add_conversions(live)
    now = time_of(live)
    types = rename_types(types, tables, renames)
    rows = Preflight(live, tables, carry(live, tables, renames, types, now))
    with renamed_schema(live, renames) as renamed:
        return compare(renamed, tables, schema.differences(renamed, described), rows, renames)


def _keep(
    live: sqlite3.Connection, path: Path, tables: Mapping[str, Table], approved: Collection[str]
) -> None:
    planned = plan_on(live, tables) if approved else None
    if planned and planned.is_waiting and planned.hash in approved:
        keep_copy(live, path, planned.hash)


def apply_on(
    live: sqlite3.Connection,
    tables: Mapping[str, Table],
    migration: Migration,
    is_agreed: Callable[[Change], bool],
) -> Migration:
    """Make a plan that was found in the same transaction, insert seed rows, and return it.

    Args:
        live: foreign keys are off.
        tables: those of the plan.
        migration: what `plan_on` returned for them.
        is_agreed: whether a change that loses something may be made.

    Raises:
        MigrationRefused: as `apply`.
    """
    if not all(change.risk == "destructive" and is_agreed(change) for change in migration.refused):
        raise refusal(migration)
    make_own_tables(live)
    now = time_of(live)
    recorded_hash, types = _recorded(live)
    if not migration.is_empty:
        _make(live, tables, migration, types, now)
    if recorded_hash != migration.spec_hash:
        _record(live, tables, migration.spec_hash, now)
    if seed(live, tables, now) or not migration.is_empty:
        _check_references(live)
    return migration


def refusal(migration: Migration) -> MigrationRefused:
    """Return the error that says which changes are not made, and the cure of each."""
    listed = "\n".join(f"  {change}" for change in migration.refused)
    cures = dict.fromkeys(change.cure for change in migration.refused if change.cure)
    if migration.is_waiting:
        cures[f"approve it with 'bbops db approve {migration.hash}', or keep what is there"] = None
    elif migration.losses:
        cures["keep what is there and add a new column or table beside it"] = None
    return MigrationRefused(
        f"these changes of tables are not made unasked:\n{listed}", hint="; ".join(cures)
    )


def _make(
    live: sqlite3.Connection,
    tables: Mapping[str, Table],
    migration: Migration,
    types: Types,
    now: str,
) -> None:
    renames = find_renames(live, tables)
    types = rename_types(types, tables, renames)
    alter.apply_renames(live, renames)
    carried = carry(live, tables, Renames(), types, now)
    alter.apply_differences(live, _schema(), _schema().metadata(tables), carried, migration.rebuilt)
    left = _compare(live, tables, {}, Renames())
    if left.changes or left.rebuilt:
        listed = ", ".join([*map(str, left.changes), *sorted(left.rebuilt)])
        raise MigrationRefused(f"the tables differ from the declared ones afterwards: {listed}")


def _check_references(live: sqlite3.Connection) -> None:
    broken = live.execute(
        'SELECT "table", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2'
    ).fetchall()
    if broken:
        listed = "; ".join(
            f"{count} rows of '{table}' refer to rows that '{parent}' does not have"
            for table, parent, count in broken
        )
        raise MigrationRefused(listed, hint="check 'seed' and 'default' of these tables")


def describe(tables: Mapping[str, Table]) -> str:
    """Return all that a database holds of declared tables, as JSON that `tables_of` reads."""
    dumped = {
        name: table.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"checks"}
        )  # the database does not hold these yet
        for name, table in tables.items()
    }
    return json.dumps(
        {"format": _FORMAT, "tables": dumped}, sort_keys=True, separators=(",", ":"), default=str
    )


def tables_of(description: str) -> dict[str, Table]:
    """Return the tables that `describe` has described; of an empty text, none."""
    found = json.loads(description)["tables"] if description else {}
    return {name: Table.model_validate(table) for name, table in found.items()}


def hash_of(tables: Mapping[str, Table]) -> str:
    """Return what the record of a database that has these tables says."""
    return hashlib.sha256(describe(tables).encode()).hexdigest()


def time_of(live: sqlite3.Connection) -> str:
    """Return the time as `created` and `updated` columns store it."""
    return str(live.execute(_NOW).fetchone()[0])


def read_record(live: sqlite3.Connection) -> tuple[str, str]:
    """Return the hash and the description of the last applied tables; empty where none were."""
    if not live.execute(_IS_RECORDED).fetchone():
        return "", ""
    spec_hash, spec = live.execute("SELECT hash, spec FROM _bbops_schema").fetchone()
    return str(spec_hash), str(spec)


def _insert_seed(live: sqlite3.Connection, path: Path) -> dict[str, int]:
    recorded_hash, spec = read_record(live)
    if not recorded_hash:
        raise DatabaseError(
            f"'{path}' has no tables of a project yet", hint="the first release makes them"
        )
    tables = tables_of(spec)
    now = time_of(live)
    added = {name: seed(live, {name: table}, now) for name, table in tables.items() if table.seed}
    if any(added.values()):
        _check_references(live)
    return added


def _recorded(live: sqlite3.Connection) -> tuple[str, dict[str, dict[str, str]]]:
    """Return the hash of the last applied tables, and each column's declared type."""
    spec_hash, spec = read_record(live)
    found = json.loads(spec)["tables"] if spec else {}
    types = {
        name: {key: column["type"] for key, column in table["columns"].items()}
        for name, table in found.items()
    }
    return spec_hash, types


def _base(live: sqlite3.Connection) -> str:
    if not live.execute(_IS_RECORDED).fetchone():
        return ""
    return str(live.execute("SELECT hash || applied_at FROM _bbops_schema").fetchone()[0])


def _record(
    live: sqlite3.Connection, tables: Mapping[str, Table], spec_hash: str, now: str
) -> None:
    live.execute(_RECORD)
    live.execute(
        "INSERT INTO _bbops_schema (id, hash, spec, applied_at) VALUES (1, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, spec = excluded.spec,"
        " applied_at = excluded.applied_at",
        (spec_hash, describe(tables), now),
    )
