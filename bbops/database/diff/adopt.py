"""Describe live tables in the words of `tables/*.yaml`, and list what those words cannot say.

For databases that another program has made, or that were changed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bbops.database.schema import shape

Declared = dict[str, Any]
"""A table in the form of its file."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}").fullmatch
_LENGTH: Final = re.compile(r"\((\d+)\)").search
_ACTIONS: Final = {"CASCADE": "cascade", "SET NULL": "setNull"}
_BY_WORD: Final = (
    ("bigint", "bigint"), ("int", "integer"), ("serial", "integer"), ("bool", "boolean"),
    ("timestamp", "datetime"), ("datetime", "datetime"), ("date", "date"), ("time", "time"),
    ("uuid", "uuid"), ("json", "json"), ("char", "string"), ("text", "text"), ("clob", "text"),
    ("bytea", "binary"), ("blob", "binary"), ("binary", "binary"),
    ("real", "number"), ("floa", "number"), ("doub", "number"),
    ("dec", "decimal"), ("numeric", "decimal"), ("money", "decimal"),
)  # fmt: skip
"""The words of live types and their kinds; the first match counts."""
_ODD: Final = re.compile(r"\[\]$|interval|point|range|polygon|internal").search
_NOW: Final = re.compile(
    r"current_timestamp|now\(\)|strftime\(.*'now'|datetime\('now'", re.IGNORECASE
).search
_UUID: Final = re.compile(r"gen_random_uuid|uuid_generate|uuidv\d", re.IGNORECASE).search


@dataclass(frozen=True, slots=True)
class Rest:
    """The parts of a database that a shape leaves out.

    Attributes:
        uniques: the sets of columns that a constraint keeps unique, by table.
        enums: the values of columns of an enumerated type, by table and column.
        checks: the tables with a CHECK of another program.
        remarks: notes on everything that tables cannot describe.
    """

    uniques: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    enums: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    checks: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Adopted:
    """Tables in the form of their files, and remarks on the rest."""

    tables: Mapping[str, Declared]
    remarks: tuple[str, ...]


def adopt(
    live: shape.Shape,
    rest: Rest,
    reserved: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Adopted:
    """Return the declarations of live tables.

    Args:
        live: the live tables.
        rest: what the shape leaves out.
        reserved: forbidden names of columns.
        only: the wanted tables, by default all.
    """
    adopter = _Adopter(live, rest, frozenset(reserved))
    wanted = live.keys() if only is None else live.keys() & set(only)
    tables = {name: adopter.table(name) for name in sorted(wanted)}
    found = {name: table for name, table in tables.items() if table}
    checks = (
        f"the CHECKs of table '{table}' are left out: write them as rules or 'checks'"
        for table in sorted(rest.checks)
    )
    return Adopted(found, (*adopter.remarks, *rest.remarks, *checks))


class _Adopter:
    def __init__(self, live: shape.Shape, rest: Rest, reserved: frozenset[str]) -> None:
        self._live, self._rest, self._reserved = live, rest, reserved
        self.remarks: list[str] = []

    def table(self, name: str) -> Declared:
        """Return a table; an empty one if it cannot be declared."""
        table = self._live[name]
        problem = self._problem(name, table)
        if problem:
            self.remarks.append(f"table '{name}' is left out: {problem}")
            return {}
        columns = {
            key: self._column(name, key, column, is_key=table.key == (key,))
            for key, column in table.columns.items()
            if self._is_named(name, key)
        }
        found: Declared = {"columns": columns}
        if len(table.key) > 1:
            found["primaryKey"] = list(table.key)
        indexes = dict(self._indexes(name, table, columns))
        return found | ({"indexes": indexes} if indexes else {})

    def _problem(self, name: str, table: shape.Table) -> str:
        if not _NAME(name):
            return "its name is not in lower_case; rename it first"
        if not table.key:
            return "it has no primary key; give it one first"
        odd = [key for key in table.key if not _NAME(key)]
        return f"its key '{odd[0]}' is not in lower_case; rename it first" if odd else ""

    def _is_named(self, table: str, name: str) -> bool:
        if _NAME(name) and name not in self._reserved:
            return True
        why = "that is a reserved word in expressions" if _NAME(name) else "it is not in lower_case"
        self.remarks.append(f"column '{table}.{name}' is left out: {why}; rename it first")
        return False

    def _column(self, table: str, name: str, column: shape.Column, *, is_key: bool) -> Declared:
        kind = column.kind or self._kind(table, name, column.type)
        found: Declared = {"type": kind}
        found |= {"primaryKey": True} if is_key else {}
        if self._counts(table, name, column, is_key=is_key):
            found["auto"] = "increment"
        found |= {"nullable": True} if column.nullable else {}
        found |= {"unique": True} if self._is_unique(table, name) and not is_key else {}
        length = _LENGTH(column.type)
        found |= {"maxLength": int(length[1])} if kind == "string" and length else {}
        if enum := self._rest.enums.get((table, name)):
            found["enum"] = list(enum)
        found |= self._default(table, name, column, kind)
        return found | self._reference(table, name, column)

    def _kind(self, table: str, name: str, storage: str) -> str:
        if (table, name) in self._rest.enums:
            return "string"
        words = storage.lower()
        if not _ODD(words):
            for word, kind in _BY_WORD:
                if word in words:
                    return kind
        told = f"of type '{storage}'" if storage else "without a type"
        self.remarks.append(f"column '{table}.{name}' {told} becomes text")
        return "text"

    def _counts(self, table: str, name: str, column: shape.Column, *, is_key: bool) -> bool:
        """Whether new rows get a number: in SQLite every single integer key does."""
        is_rowid = is_key and column.type == "INTEGER" and column.kind in {"", "integer", "bigint"}
        return column.counts or (is_rowid and self._live[table].key == (name,))

    def _is_unique(self, table: str, name: str) -> bool:
        indexes = self._live[table].indexes.items()
        unique = (
            found_index
            for found_index in indexes
            if found_index[1].unique and not found_index[1].where
        )
        ours = [index.columns for key, index in unique if key.startswith("uq_")]
        return (name,) in [*self._rest.uniques.get(table, ()), *ours]

    def _default(self, table: str, name: str, column: shape.Column, kind: str) -> Declared:
        text = column.default
        if text is None or text.upper() == "NULL":
            return {}
        if kind == "datetime" and _NOW(text):
            return {"auto": "created"}
        if _UUID(text):
            return {"auto": "uuid"}
        try:
            return {"default": read_literal(text, kind)}
        except ValueError:
            self.remarks.append(
                f"the default of column '{table}.{name}' is left out: it is not a constant"
            )
            return {}

    def _reference(self, table: str, name: str, column: shape.Column) -> Declared:
        to = column.reference
        if to is None:
            return {}
        parent = self._live.get(to.table)
        key = to.column or (parent.key[0] if parent and parent.key else "")
        if parent is None or not _NAME(to.table) or not _NAME(key):
            self.remarks.append(f"the reference of column '{table}.{name}' is left out")
            return {}
        if to.on_delete == "SET DEFAULT":
            self.remarks.append(f"column '{table}.{name}' no longer becomes its default on delete")
        found = {"references": f"{to.table}.{key}"}
        action = _ACTIONS.get(to.on_delete)
        return found | ({"onDelete": action} if action else {})

    def _indexes(
        self, name: str, table: shape.Table, columns: Mapping[str, Any]
    ) -> Iterator[tuple[str, Declared]]:
        for key, index in sorted(table.indexes.items()):
            if index.where:
                continue  # a remark reports it
            is_ours = key in {f"{way}_{name}_{index.columns[0]}" for way in ("uq", "ix")}
            if not (is_ours and len(index.columns) == 1) and set(index.columns) <= columns.keys():
                written = key if _NAME(key) else f"{name}_by_{'_'.join(index.columns)}"[:63]
                yield written, _index(index.columns, unique=index.unique)
        for names in self._rest.uniques.get(name, ()):
            if len(names) > 1 and set(names) <= columns.keys():
                yield f"{name}_{'_'.join(names)}_key"[:63], _index(names, unique=True)


def _index(columns: Sequence[str], *, unique: bool) -> Declared:
    found: Declared = {"columns": list(columns)}
    return found | ({"unique": True} if unique else {})


def read_literal(text: str, kind: str) -> Any:
    """Return the value for a file from a default, such as `'a'` or `-1.5`.

    Raises:
        ValueError: the default is computed.
    """
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        value = text[1:-1].replace("''", "'")
        if kind == "json":
            try:
                return msgspec.json.decode(value)
            except msgspec.DecodeError:
                raise ValueError("no JSON") from None
        return value
    if kind == "boolean" and text.lower() in {"0", "1", "true", "false"}:
        return text.lower() in {"1", "true"}
    if kind == "decimal":
        float(text)  # refuses text that is not a number
        return text
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
