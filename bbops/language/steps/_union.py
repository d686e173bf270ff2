"""`union` of find: rows of several tables as one list."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import PlainValidator, PrivateAttr

from bbops.base.model import Model
from bbops.language.expressions.types import ANY, NEVER, Type, join, map_of
from bbops.language.expressions.values import BareField, Broken, Expression
from bbops.language.sql.dialect import Template, commas, joined, seq
from bbops.language.sql.query import Query
from bbops.language.sql.types import SqlColumn
from bbops.language.steps._aggregate import Grouped
from bbops.language.steps._base import Static
from bbops.language.steps._checking import Checking, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._query import check_where, query_scope, report_column, try_sql
from bbops.language.steps._shape import Columns, Groups, Selected, read_select, selected_groups
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark, Text

MOST_PARTS: Final = 10
_WHOLE: Final = frozenset({"any", "null", "list", "map"})


class UnionPart(Model):
    """Rows of one table: their condition and their columns."""

    table: Static
    where: BareField | None = None
    select: Annotated[Columns | Selected, PlainValidator(read_select)]
    _groups: Groups | None = PrivateAttr(default=None)

    @property
    def groups(self) -> Groups:
        """The selected values, by name; the same object at each call."""
        select = self.select
        if self._groups is None:
            self._groups = selected_groups(select) or Groups()
        return self._groups


# ---- check
def check_union(at: Checking, parts: Sequence[UnionPart], place: Mark | None) -> Type:
    """Report parts that do not fit together and return the type of a row."""
    if not 1 < len(parts) <= MOST_PARTS:
        at.report(place, "union-shape", f"'union' has two to {MOST_PARTS} parts")
        return ANY
    found: dict[str, Type] = {}
    for number, part in enumerate(parts):
        types, mark = _check_part(at, part, place), mark_of(part.table) or place
        if types is None:
            return ANY
        if number and set(types) != set(found):
            message = f"this part selects {', '.join(types)}, and the first {', '.join(found)}"
            at.report(mark, "union-shape", message, "give each part the same names")
            return ANY
        for name, of in types.items():
            found[name] = _both(at, name, found[name], of, mark) if number else of
    return map_of(found, "the row")


def _both(at: Checking, name: str, first: Type, of: Type, mark: Mark | None) -> Type:
    if first.is_never or of.is_never:
        return NEVER
    if first.kind != of.kind:
        message = f"'{name}' is {of.kind} here, and {first.kind} in the first part"
        at.report(mark, "union-shape", message, "convert one of them, or rename it")
    return join(first, of)


def _check_part(at: Checking, part: UnionPart, place: Mark | None) -> dict[str, Type] | None:
    table, mark = at.table(part.table), mark_of(part.table) or place
    if table is None:
        return None
    facts = {} if part.where is None else check_where(at, table, part.where, mark)
    if not part.groups.items:
        message = "a part of 'union' selects a list of columns, or names with expressions"
        at.report(mark, "union-shape", message, "select no maps and lists")
        return None
    scope, found = query_scope(at, table), dict[str, Type]()
    for name, value in part.groups.items:
        if part.groups.is_list and name not in table.columns:
            report_column(at, table, name, mark_of(value))
            found[name] = NEVER
            continue
        with scope.knowing(facts):
            found[name] = at.value(value, within=scope)
        at.follows(table, value)
        if isinstance(value, Broken) or not at.is_sound(value):
            continue
        if found[name].kind in _WHOLE:
            kind = "json" if found[name].kind == "any" else found[name].kind
            at.report(mark_of(value), "union-shape", f"'{name}' is {kind}, which 'union' lacks")
        else:
            try_sql(at, value, Query(table, scope, _nothing, bare=True))
    return found


def _nothing(_node: object) -> ast.expr:
    return ast.Constant(None)


# ---- code
def union_code(flow: Flow, parts: Sequence[UnionPart]) -> Grouped:
    """Return the statement of all parts; their parameters and switches are shared."""
    whole = flow.query(str(parts[0].table))
    names = [name for name, _ in parts[0].groups.items]
    columns: list[SqlColumn] = []
    texts: list[Template] = []
    for part in parts:
        query = flow.query(str(part.table))
        query.switches, query.parameters = whole.switches, whole.parameters
        query.live, query.aliases = whole.live, whole.aliases
        query.visible = whole.visible
        cells = dict(part.groups.items)
        made = [_cell(query, cells[name]) for name in names]
        columns = columns or [
            SqlColumn(Text(name), "string" if kind == "text" else kind, nullable=True)
            for name, (_, kind) in zip(names, made, strict=True)
        ]
        selected = commas([
            seq(sql, f" AS {quote(name)}") for name, (sql, _) in zip(names, made, strict=True)
        ])  # fmt: skip
        where = part.where
        condition = query.dialect.words[0]
        wanted = query.condition(where.node) if isinstance(where, Expression) else condition
        texts.append(seq("SELECT ", selected, f" FROM {query.rows} WHERE ", wanted))
    sql = seq("SELECT * FROM (", joined(texts, " UNION ALL "), ") AS _union")
    return Grouped(sql, columns, len(columns), whole)


def _cell(query: Query, value: object) -> tuple[Template, str]:
    assert isinstance(value, Expression)  # noqa: S101 - the check has tested it
    kind, sql = query.type_of(value.node).kind, query.scalar(value.node)
    return (seq(sql, query.dialect.by_code_point) if kind == "text" else sql), kind


def first_table(parts: object) -> object:
    """Return the table of the first part, as it is written."""
    first = parts[0] if isinstance(parts, list) and parts else None
    return first.get("table") if isinstance(first, dict) else None
