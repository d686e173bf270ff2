"""The live tables of a SQLite file, and its parts beside them, for migrations."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from time import monotonic
from typing import Final

from bbops.base.errors import MigrationRefused
from bbops.base.render import plural
from bbops.database.diff.adopt import Rest
from bbops.database.diff.live_tables import LiveTables
from bbops.database.diff.renames import Renames
from bbops.database.diff.row_mapping import Carry
from bbops.database.schema import shape
from bbops.database.schema.conversions import Conversions, Stored
from bbops.database.schema.own import NEWEST, make_own_tables
from bbops.database.schema.row_events import ByTable
from bbops.database.schema.shape import Difference
from bbops.database.sqlite.alter import SqliteAlteration
from bbops.database.sqlite.ddl import SqliteConversions, SqliteDdl, add_conversions
from bbops.database.sqlite.row_triggers import drop_row_triggers, make_row_triggers
from bbops.database.sqlite.violations import failure_of
from bbops.language.sql.sqlite import SQLITE
from bbops.runtime.values.failures import Failure

OPERATIONS_PER_LOOK: Final = 1_000
"""How often a limited statement checks the clock: a rule may take long for each row."""
_NOW: Final = "SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'"
# ---- The parts of a SQLite file that its shape leaves out

# Virtual tables and their own tables are ignored: no project declares them.
_TABLES: Final = (
    "SELECT m.name, m.sql FROM sqlite_master AS m"
    " JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = m.name"
    " WHERE m.type = 'table' AND l.type = 'table'"
    " AND substr(m.name, 1, 1) != '_' AND m.name NOT LIKE 'sqlite_%'"
)
_COLUMNS: Final = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)'
_REFERENCES: Final = (
    'SELECT id, "from", "table", coalesce("to", \'\'), on_delete FROM pragma_foreign_key_list(?)'
)
_INDEXES: Final = (
    'SELECT l.name, l."unique", i.name FROM pragma_index_list(?) AS l, pragma_index_info(l.name)'
    " AS i WHERE l.origin = 'c' ORDER BY l.name, i.seqno"
)
_WRITTEN: Final = (
    "SELECT m.name, m.sql, l.partial FROM pragma_index_list(?) AS l JOIN sqlite_master AS m"
    " ON m.name = l.name AND m.type = 'index'"
)
_KEY: Final = re.escape(SQLITE.unique_key("NAME", "decimal")).replace("NAME", '[^"]*')
_KEYS: Final = re.compile(_KEY)
"""The index expression of a decimal that is unique by its value."""
OUR_INDEX: Final = re.compile(
    rf'[^(]*\((?:(?:, )?(?:"[^"]*"|{_KEY}))+\)(?: WHERE \((?P<where>.*)\))?', re.DOTALL
).fullmatch
"""The form of our own indexes; indexes of other programs are ignored."""
_TEXT: Final = re.compile("'(?:[^']|'')*'")
_RULE: Final = re.compile(r'CONSTRAINT "?(c[kt]_\w+_([0-9a-f]{8}))"? CHECK \(([^"]*"([^"]+)")?')


class SqliteTables(LiveTables):
    """The live tables of one connection with foreign keys off: the end checks all of them."""

    ddl = SqliteDdl()
    newest = (NEWEST,)

    def __init__(self, live: sqlite3.Connection) -> None:
        self._live = live

    def ask(self, query: str) -> list[tuple[Stored, ...]]:
        return self._live.execute(query).fetchall()

    def name(self, table: str) -> str:
        return f'main."{table}"'

    def limit(self, until: float) -> None:
        self._live.set_progress_handler(lambda: monotonic() > until, OPERATIONS_PER_LOOK)

    def read(self) -> shape.Shape:
        found = self._live.execute(_TABLES).fetchall()
        return {name: self._table(name, sql) for name, sql in found}

    def now(self) -> str:
        return str(self._live.execute(_NOW).fetchone()[0])

    def run(self, statement: str, values: tuple[str, ...]) -> list[tuple[Stored, ...]]:
        return self._live.execute(statement, values).fetchall()

    def has_own(self, table: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return self._live.execute(query, (table,)).fetchone() is not None

    def make_own_tables(self) -> None:
        make_own_tables(self._live)

    def silence(self) -> None:
        drop_row_triggers(self._live)

    def report_changes(self, wanted: ByTable) -> None:
        make_row_triggers(self._live, wanted, self.read())

    def find_refused_triggers(self, wanted: ByTable) -> Mapping[str, str]:
        del wanted  # a file has no roles
        return {}

    def convert(self, columns: Collection[tuple[str, str, str, str]]) -> Conversions:
        del columns  # its functions convert any
        add_conversions(self._live)
        return SqliteConversions()

    def lock(self, tables: Collection[str]) -> None:
        """Do nothing: the transaction is the only writer of a file."""

    def make_renames(self, renames: Renames) -> None:
        for statement in renames.statements():
            self._live.execute(statement)

    def alter(
        self,
        want: shape.Shape,
        differences: Collection[Difference],
        carried: Mapping[str, Carry],
    ) -> None:
        SqliteAlteration(self._live, want, differences, carried).make(self.read())

    def insert_missing(
        self, table: str, row: Mapping[str, tuple[Stored, str]], key: Collection[str]
    ) -> bool:
        sql = self.write_insert(table, row, "?" * len(row), key)
        values = tuple(stored for stored, _ in row.values())
        try:
            return self._live.execute(sql, values).rowcount > 0
        except sqlite3.IntegrityError as error:
            failure = failure_of(error, self._live, sql)
            message = (
                failure.message if isinstance(failure, Failure) else "it violates a constraint"
            )
            raise MigrationRefused(message) from None

    def finish_rows(self, tables: Collection[str]) -> None:
        del tables  # SQLite continues from the highest key automatically
        broken = self._live.execute(
            'SELECT "table", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2'
        ).fetchall()
        if broken:
            listed = "; ".join(
                f"{plural(count, 'row')} of '{table}' for which '{parent}' has none"
                for table, parent, count in broken
            )
            raise MigrationRefused(listed, hint="check 'seed' and 'default' of these tables")

    def rest(self) -> Rest:
        return read_rest(self._live)

    def _table(self, name: str, sql: str) -> shape.Table:
        rules = _read_rules(sql)
        references = self._references(name)
        counts = "AUTOINCREMENT" in _TEXT.sub("''", sql)
        columns: dict[str, shape.Column] = {}
        keys: dict[int, str] = {}
        for column, kind, not_null, default, place in self._live.execute(_COLUMNS, (name,)):
            keys |= {place: column} if place else {}
            columns[column] = shape.Column(
                kind.upper(),
                nullable=not (not_null or place),
                default=default,
                counts=counts and place == 1,
                rules=frozenset(rules.get(column, ())),
                reference=references.get(column),
            )
        key = tuple(keys[place] for place in sorted(keys))
        return shape.Table(columns, key, self._indexes(name), frozenset(rules.get("", ())))

    def _references(self, table: str) -> dict[str, shape.Reference]:
        found = self._live.execute(_REFERENCES, (table,)).fetchall()
        ids = [row[0] for row in found]
        return {
            column: shape.Reference(parent, key, on_delete)
            for id_, column, parent, key, on_delete in found
            if ids.count(id_) == 1  # tables declare no keys of several columns
        }

    def _indexes(self, table: str) -> dict[str, shape.Index]:
        columns: dict[tuple[str, bool], list[str]] = {}
        for name, unique, column in self._live.execute(_INDEXES, (table,)):
            columns.setdefault((name, bool(unique)), []).append(column)
        written = {name: rest for name, *rest in self._live.execute(_WRITTEN, (table,)).fetchall()}
        found: dict[str, shape.Index] = {}
        for (name, unique), of in columns.items():
            sql, partial = written.get(name, ("", 0))
            ours = OUR_INDEX(sql or "")
            if ours is None and (partial or not all(of)):
                continue  # an index of another program
            where = (ours["where"] or "") if ours is not None and partial else ""
            found[name] = _read_index(of, unique, where, sql or "")
        return found


def _read_index(
    columns: Sequence[str | None], unique: bool, where: str, sql: str
) -> shape.Index:  # fmt: skip
    """Return an index of ours; for a decimal it has an expression, and no column."""
    decimals = (text.split('"')[1] for text in _KEYS.findall(sql))
    names = [(next(decimals), "decimal") if column is None else (column, "") for column in columns]
    keys = tuple(SQLITE.unique_key(name, of) for name, of in names)
    return shape.Index(
        tuple(name for name, _ in names), unique, where, () if all(columns) else keys
    )  # fmt: skip


def _read_rules(sql: str) -> dict[str, list[shape.Rule]]:
    """Return our rules by their columns; rules of the table have the key ''."""
    found: dict[str, list[shape.Rule]] = {}
    for rule in _RULE.finditer(_TEXT.sub("''", sql)):
        column = rule[4] if rule[1].startswith("ck_") else ""
        found.setdefault(column, []).append(shape.Rule(rule[2], rule[1]))
    return found


_OWNED: Final = "substr(m.tbl_name, 1, 1) != '_' AND m.name NOT LIKE 'sqlite_%'"
_UNIQUES: Final = (
    "SELECT m.name, l.name, i.name FROM sqlite_master AS m, pragma_index_list(m.name) AS l,"
    f" pragma_index_info(l.name) AS i WHERE m.type = 'table' AND {_OWNED} AND l.origin = 'u'"
    " ORDER BY m.name, l.name, i.seqno"
)
_ODD_INDEXES: Final = (
    "SELECT DISTINCT m.name, l.name, (SELECT sql FROM sqlite_master WHERE name = l.name)"
    " FROM sqlite_master AS m, pragma_index_list(m.name) AS l"
    f" LEFT JOIN pragma_index_info(l.name) AS i WHERE m.type = 'table' AND {_OWNED}"
    " AND l.origin = 'c' AND (l.partial OR i.name IS NULL)"
)
_OTHERS: Final = (
    f"SELECT type, name FROM sqlite_master AS m WHERE type IN ('view', 'trigger') AND {_OWNED}"
    " AND substr(m.name, 1, 7) != '_bbops_'"
)
_OUR_KEY: Final = re.compile(
    re.escape(SQLITE.unique_key("NAME", "decimal")).replace("NAME", '[^"]*')
).search
_SOURCES: Final = (
    f"SELECT m.name, m.sql FROM sqlite_master AS m WHERE m.type = 'table' AND {_OWNED}"
)
_MANY: Final = "SELECT id FROM pragma_foreign_key_list(?) GROUP BY id HAVING count(*) > 1"
_GENERATED: Final = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden IN (2, 3)"
_CHECK: Final = re.compile(r"\bCHECK\s*\(", re.IGNORECASE)
_OUR_CHECK: Final = re.compile(r'CONSTRAINT "?c[kt]_\w+_[0-9a-f]{8}"? CHECK \(')


def read_rest(live: sqlite3.Connection) -> Rest:
    """Return these parts; only the catalog is read."""
    uniques: dict[str, dict[str, list[str]]] = {}
    for table, index, column in live.execute(_UNIQUES):
        uniques.setdefault(table, {}).setdefault(index, []).append(column)
    found = {table: [tuple(columns) for columns in of.values()] for table, of in uniques.items()}
    return Rest(found, checks=frozenset(_with_checks(live)), remarks=tuple(_remarks(live)))


def _with_checks(live: sqlite3.Connection) -> Iterator[str]:
    for table, sql in live.execute(_SOURCES).fetchall():
        bare = _TEXT.sub("''", sql or "")
        if len(_CHECK.findall(bare)) > len(_OUR_CHECK.findall(bare)):
            yield table


def _remarks(live: sqlite3.Connection) -> Iterator[str]:
    for kind, name in live.execute(_OTHERS).fetchall():
        yield f"{kind} '{name}' stays as it is, and is not in the project"
    for table, index, sql in live.execute(_ODD_INDEXES).fetchall():
        if _OUR_KEY(sql or ""):
            continue  # the index of a decimal that is unique by its value
        odd = "it is partial, or on an expression"
        yield f"index '{index}' of '{table}' is left out: {odd}"
    for table, sql in live.execute(_SOURCES).fetchall():
        yield from _remarks_on(live, table, _TEXT.sub("''", sql or ""))


def _remarks_on(live: sqlite3.Connection, table: str, sql: str) -> Iterator[str]:
    if sql.upper().startswith("CREATE VIRTUAL"):
        yield f"table '{table}' is virtual: it stays as it is, and is not in the project"
        return
    if live.execute(_MANY, (table,)).fetchone():
        yield f"a reference of table '{table}' over several columns is left out"
    for (column,) in live.execute(_GENERATED, (table,)).fetchall():
        yield f"column '{table}.{column}' is computed: it is left out"
