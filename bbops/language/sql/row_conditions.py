"""Conditions of triggers over the old and the new row as SQL, as far as columns suffice.

The database tests the condition before it reports a change, so that a false condition costs no row
of the outbox. A reported change is tested again in Python: the SQL may accept more, and never less.
So it has the parts that both decide alike, down to nulls, zero bytes and numbers; the rest is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from bbops.language.expressions import nodes as s
from bbops.language.expressions.scope import Scope
from bbops.language.sql.dialect import Dialect, Template, filled, seq
from bbops.language.sql.parts import NotInSql, read_constant
from bbops.language.sql.query import check_nesting, flatten
from bbops.language.sql.types import SqlColumn
from bbops.runtime.data.statements import Statement
from bbops.runtime.values.identifiers import quote

Kind = Literal["text", "integer", "number", "boolean"]
Rows = Mapping[str, str]
"""The SQL names of `newRow` and `oldRow`, as far as an operation has them."""

_KINDS: Final[Mapping[str, Kind]] = {
    "string": "text", "text": "text", "integer": "integer", "bigint": "integer",
    "number": "number", "boolean": "boolean",
}  # fmt: skip
_SEARCHES: Final = frozenset({"contains", "startsWith", "endsWith"})
_ROWS: Final = frozenset({"newRow", "oldRow"})
_MOST_EXACT: Final = 1 << 53
"""The largest integer that every number represents exactly."""


@dataclass(frozen=True, slots=True)
class RowSql:
    """A condition as SQL that is true or false, and the columns that it reads, by their kinds."""

    sql: str
    reads: Mapping[str, Kind]


def write_row_condition(
    node: s.Node, scope: Scope, columns: Mapping[str, SqlColumn], rows: Rows, dialect: Dialect
) -> RowSql | None:
    """Return a condition that is necessary for another one; None if nothing is.

    Args:
        node: the condition, without mistakes in `scope`.
        scope: the scope of the condition; bare names are columns.
        columns: the columns of the table.
        rows: the rows of the operation; a bare name belongs to the first one.
        dialect: the dialect of a CHECK.
    """
    writer = _ConditionWriter(scope, columns, rows, dialect)
    template = writer.weakened(node)
    if template is None:
        return None
    try:
        check_nesting(node, template)
    except NotInSql:
        return None
    sql = f"({Statement(template, 0, dialect.words).sql}) IS TRUE"
    return RowSql(" OR ".join([sql, *writer.odd]), dict(sorted(writer.reads.items())))


class _ConditionWriter:
    def __init__(
        self, scope: Scope, columns: Mapping[str, SqlColumn], rows: Rows, dialect: Dialect
    ) -> None:
        self._scope, self._columns, self._rows, self._dialect = scope, columns, rows, dialect
        self._first = next(iter(rows))
        self.reads: dict[str, Kind] = {}
        self.odd: dict[str, None] = {}

    def weakened(self, node: s.Node) -> Template | None:
        """Return a condition that holds wherever `node` does; None if it always may hold."""
        if isinstance(node, s.Logic) and node.op == "and":
            parts = [part for of in flatten(node, "and") if (part := self.weakened(of)) is not None]
            return ("and", *parts) if parts else None
        if isinstance(node, s.Logic):
            every = [self.weakened(of) for of in flatten(node, "or")]
            return None if None in every else ("or", *every)
        try:
            return self._exact(node)
        except NotInSql:
            return None

    def _exact(self, node: s.Node) -> Template:
        match node:
            case s.Logic():
                return (node.op, *map(self._exact, flatten(node, node.op)))
            case s.Unary(op="not"):
                return ("not", self._exact(node.of))
            case s.Compare():
                return self._compare(node)
            case s.Filter() if node.name in _SEARCHES:
                return self._search(node)
            case s.Literal(value=bool() as value):
                return self._dialect.words[0 if value else 1]
            case _ if self._kind(node) == "boolean":
                return self._truth(node)
            case _:
                raise NotInSql(node.start, "")

    def _compare(self, node: s.Compare) -> Template:
        if node.op in {"in", "not in"}:
            return self._among(node)
        row = self._row_is_null(node)
        if row is not None:
            return self._dialect.words[0 if row == (node.op == "==") else 1]
        kind = self._common(node.left, node.right)
        left, right = self._side(node.left, kind), self._side(node.right, kind)
        if node.op == "==":
            return self._dialect.equal(left, right, null=True)
        if node.op == "!=":
            return self._dialect.unequal(left, right, null=True)
        return self._dialect.ordered(left, node.op, right, kind)

    def _row_is_null(self, node: s.Compare) -> bool | None:
        """Return whether the row in a comparison with null is null; None for other comparisons."""
        sides = (node.left, node.right), (node.right, node.left)
        for row, other in sides if node.op in {"==", "!="} else ():
            if isinstance(row, s.Name) and row.name in _ROWS and _is_null(other):
                return row.name not in self._rows
        return None

    def _among(self, node: s.Compare) -> Template:
        kind = self._kind(node.left)
        if kind is None or not isinstance(node.right, s.ListOf) or not node.right.items:
            raise NotInSql(node.start, "")
        left = self._side(node.left, kind)
        equal = [
            self._dialect.equal(left, self._literal(item, kind), null=True)
            for item in node.right.items
        ]
        return ("or", *equal) if node.op == "in" else ("not", ("or", *equal))

    def _search(self, node: s.Filter) -> Template:
        """Return a search for a constant text; a null never contains it."""
        of, (wanted,) = node.of, node.args
        if self._kind(of) != "text" or self._scope.type_of(of).nullable:
            raise NotInSql(node.start, "")
        pattern = self._dialect.filters[node.name]
        return filled(pattern, [self._side(of, "text"), self._literal(wanted, "text")])

    def _truth(self, node: s.Node) -> Template:
        column = self._read(node)
        return seq("(", column, " <> 0)") if self._dialect.name == "sqlite" else column

    # ---- sides of a comparison
    def _common(self, left: s.Node, right: s.Node) -> Kind:
        """Return the kind of both sides: columns of one kind, or a column and a constant."""
        kinds = {kind for of in (left, right) if (kind := self._kind(of)) is not None}
        if len(kinds) != 1:
            raise NotInSql(left.start, "")
        (kind,) = kinds
        return kind

    def _side(self, node: s.Node, kind: Kind) -> Template:
        if self._kind(node) is None:
            return self._literal(node, kind)
        return seq("(", self._truth(node), ")") if kind == "boolean" else self._read(node)

    def _kind(self, node: s.Node) -> Kind | None:
        """Return the kind of a column; None for anything else."""
        found = self._column(node)
        return _KINDS.get(self._columns[found[1]].type) if found else None

    def _column(self, node: s.Node) -> tuple[str, str] | None:
        """Return the row and the name of a column."""
        match node:
            case s.Name(name=name) if name not in self._scope.roots and name in self._columns:
                return self._first, name
            case s.Member(of=s.Name(name=row), name=name) if row in _ROWS and name in self._columns:
                return row, name
        return None

    def _read(self, node: s.Node) -> Template:
        row, name = self._column(node) or ("", "")
        kind = _KINDS.get(self._columns[name].type)
        assert kind is not None  # noqa: S101 - the caller has tested it
        self.reads[name] = kind
        if row not in self._rows:
            return "NULL"
        sql = f"{self._rows[row]}.{quote(name)}"
        if kind == "number" and self._dialect.name == "postgres":
            self.odd[f"{sql} = 'NaN'"] = None  # equal to itself in SQL, and not in Python
        return sql

    def _literal(self, node: s.Node, kind: Kind) -> Template:
        value = read_constant(node, "")
        if value is None:
            return "NULL"
        if kind == "boolean" and isinstance(value, bool):
            return self._dialect.words[0 if value else 1]
        if kind == "text" and isinstance(value, str) and _is_plain(value):
            return "'" + value.replace("'", "''") + "'"
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if kind in {"integer", "number"} and is_number and abs(value) <= _MOST_EXACT:
            return repr(value)
        raise NotInSql(node.start, "")


def _is_null(node: s.Node) -> bool:
    return isinstance(node, s.Literal) and node.value is None


def _is_plain(text: str) -> bool:
    """Return whether a text can stand in the SQL of a trigger, on both databases."""
    return not any(character in "\0$" or "\ud800" <= character <= "\udfff" for character in text)
