"""The parts of a SQLite file that its shape leaves out."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Final

from bbops.database.diff.adopt import Rest
from bbops.language.sql.sqlite import SQLITE

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
_TABLES: Final = f"SELECT m.name, m.sql FROM sqlite_master AS m WHERE m.type = 'table' AND {_OWNED}"
_MANY: Final = "SELECT id FROM pragma_foreign_key_list(?) GROUP BY id HAVING count(*) > 1"
_GENERATED: Final = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden IN (2, 3)"
_CHECK: Final = re.compile(r"\bCHECK\s*\(", re.IGNORECASE)
_OUR_CHECK: Final = re.compile(r'CONSTRAINT "?c[kt]_\w+_[0-9a-f]{8}"? CHECK \(')
_TEXT: Final = re.compile("'(?:[^']|'')*'")


def read_rest(live: sqlite3.Connection) -> Rest:
    """Return these parts; only the catalog is read."""
    uniques: dict[str, dict[str, list[str]]] = {}
    for table, index, column in live.execute(_UNIQUES):
        uniques.setdefault(table, {}).setdefault(index, []).append(column)
    found = {table: [tuple(columns) for columns in of.values()] for table, of in uniques.items()}
    return Rest(found, checks=frozenset(_with_checks(live)), remarks=tuple(_remarks(live)))


def _with_checks(live: sqlite3.Connection) -> Iterator[str]:
    for table, sql in live.execute(_TABLES).fetchall():
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
    for table, sql in live.execute(_TABLES).fetchall():
        yield from _remarks_on(live, table, _TEXT.sub("''", sql or ""))


def _remarks_on(live: sqlite3.Connection, table: str, sql: str) -> Iterator[str]:
    if sql.upper().startswith("CREATE VIRTUAL"):
        yield f"table '{table}' is virtual: it stays as it is, and is not in the project"
        return
    if live.execute(_MANY, (table,)).fetchone():
        yield f"a reference of table '{table}' over several columns is left out"
    for (column,) in live.execute(_GENERATED, (table,)).fetchall():
        yield f"column '{table}.{column}' is computed: it is left out"
