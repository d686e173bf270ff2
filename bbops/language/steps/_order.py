"""`orderBy`: columns, also of relations, each in one direction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bbops.base.diagnostics import Hint, ReplaceWord, suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions.known import Facts
from bbops.language.expressions.types import NEVER, Type
from bbops.language.expressions.values import Constant, Expression, ListValue, Value
from bbops.language.sql.parts import Parts
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._checking import Checking
from bbops.language.steps._query import report_column
from bbops.language.steps._shape import Selected
from bbops.runtime.data.pages import OrderBy, Sortable
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark

Parsed = tuple[tuple[str, ...], str]
"""The names that lead to a column, and a direction."""

_ELSEWHERE = re.compile(r"(?P<down>-)([\w.]+)|([\w.]+) +(?P<way>asc|desc)", re.IGNORECASE).fullmatch
_LONG = frozenset({"string", "text"})
_UNPAGED = frozenset({"json", "binary"})


def parse_order(text: str) -> Parsed:
    """Return the parts of `column`, `column.asc` or `relation.column.desc`."""
    *path, last = text.split(".")
    return ((*path,), last) if path and last in {"asc", "desc"} else ((*path, last), "asc")


def order_texts(order: Value | None) -> Sequence[tuple[str, Any]] | None:
    """Return the constant texts of `orderBy` with their places; None if it is computed."""
    match order:
        case None:
            return ()
        case Constant(value=str()):
            return ((order.value, order.mark),)
        case ListValue(items=items) if all(isinstance(i, Constant) for i in items):
            return tuple((str(i.value), i.mark) for i in items if isinstance(i, Constant))
        case _:
            return None


# ---- check
def check_order(
    at: Checking, table: SqlTable, order: Value | None, place: Mark | None, *, paged: bool,
    selected: object = None, row: Type = NEVER,
) -> None:  # fmt: skip
    """Report an invalid order.

    Args:
        paged: the values of the order go into a cursor.
        selected: the `select` of the step, whose names may order the rows, too.
        row: the type of its rows.
    """
    found, texts = at.value(order), order_texts(order)
    if order is not None and texts is None:
        at.reads([relation.table for relation in table.relations.values()])
        _check_computed(at, order, found, place, _choices(table, paged=paged))
    computed = computed_names(table, selected)
    for text, mark in texts or ():
        name = ".".join(parse_order(text)[0])
        if name in computed:
            _check_computed_name(at, table, name, row, mark or place, paged=paged)
            continue
        column = _check_part(at, table, _own(text), mark or place)
        if paged and column is not None:
            _check_cursor(at, column, mark or place)
    for name in table.key if paged else ():
        _check_cursor(at, table.columns[name], place)


def computed_names(table: SqlTable, selected: object) -> frozenset[str]:
    """Return the names in `select` that differ from the column of that name."""
    if not isinstance(selected, Selected):
        return frozenset()
    return frozenset(
        name for name, value in selected.items
        if not (
            isinstance(value, Expression) and name in table.columns
            and isinstance(value.node, s.Name) and value.node.name == name
        )
    )  # fmt: skip


def _check_computed_name(
    at: Checking, table: SqlTable, name: str, row: Type, place: Mark | None, *, paged: bool
) -> None:
    """Report a computed value of `select` that rows cannot be ordered by."""
    of = (row.fields or {}).get(name, NEVER)
    if name in table.columns:
        message = f"'{name}' is a column, and another value in 'select'"
        at.report(
            place, "order", message, f"write 'row.{name}' for the column, or rename the other"
        )
    elif paged:
        message = f"a cursor cannot hold '{name}', which 'select' computes"
        at.report(place, "paging", message, "order by a column, or use 'offset'")
    elif of.kind in {"list", "map"}:
        at.report(place, "order", f"'{name}' is a {of.kind}, and orders no rows")


def _own(text: str) -> str:
    """Return an order without the `row.` that separates a column from a name in `select`."""
    return text.removeprefix("row.")


def _check_cursor(at: Checking, column: SqlColumn, place: Mark | None) -> None:
    """Report a column whose values cannot be in a cursor."""
    if column.private:
        message = f"the cursor would expose the private column '{column.name}'"
        at.report(place, "private-data", message, "order by another column")
    elif column.type in _UNPAGED:
        message = f"a cursor cannot hold '{column.name}' of type {column.type}"
        at.report(place, "paging", message, "order by another column")


def _check_computed(
    at: Checking, order: Value, found: Type, place: Mark | None, names: list[str]
) -> None:
    """Report an invalid order that a request could choose."""
    found = at.refuse_null(order, found, "'orderBy'", place)
    if found.kind not in {"text", "any"}:
        at.report(place, "order", "'orderBy' is 'column.desc', or a list of such")
    elif found.kind == "text" and not found.options:
        message = "'orderBy' must be one of a fixed set of texts, but this can be any text"
        at.report(place, "order", message, f"give it an 'enum', such as [{names[0]}.desc]")
    known = [f"{name}.{direction}" for name in names for direction in ("asc", "desc")]
    for option in found.options:
        if option not in known:
            message = f"'{option}', which this may be, is not an order that a request can choose"
            at.report(place, "order", message, suggest(option, known))


def _check_part(at: Checking, table: SqlTable, text: str, place: Mark | None) -> SqlColumn | None:
    """Return the column of one part of an order, or report an unknown one."""
    path, direction = parse_order(text)
    is_odd = _ELSEWHERE(text) is not None or (len(path) > 1 and path[0] in table.columns)
    if is_odd or "" in path:
        message = f"'{text}' does not end with '.asc' or '.desc'"
        at.report(place, "order", message, _fix(text))
        return None
    at.reads(table.reachable(set(path)))
    *relations, name = path
    for relation in relations:
        if relation not in table.relations:
            message = f"table '{table.name}' has no relation '{relation}'"
            at.report(place, "relation", message, suggest(relation, table.relations))
            return None
        table = table.tables[table.relations[relation].table]
    if name in table.relations and name not in table.columns:
        message = f"'{name}' is a row of table '{table.relations[name].table}', not a value"
        meant = f"{'.'.join([*path, table.relations[name].key])}.{direction}"
        at.report(place, "order", message, _write(text, meant))
        return None
    if name not in table.columns:
        report_column(at, table, name, place)
    return table.columns.get(name)


def _fix(text: str) -> str:
    """Return the fix for the syntax of other languages: `-title`, `title desc`."""
    found = _ELSEWHERE(text)
    if found is None:
        return ""
    way = "desc" if found["down"] else found["way"].lower()
    return _write(text, f"{found[2] or found[3]}.{way}")


def _write(text: str, meant: str) -> Hint:
    return Hint(f"write '{meant}'", ReplaceWord(text, meant))


# ---- code
def fixed_order(texts: Iterable[tuple[str, Any]]) -> list[tuple[str, bool]]:
    """Return the (name, is_down) parts of constant texts."""
    parsed = [parse_order(_own(text)) for text, _ in texts]
    return [(".".join(path), direction == "desc") for path, direction in parsed]


def order_by(
    query: Parts, known: Facts, fixed: Sequence[tuple[str, bool]] | None, *, paged: bool
) -> tuple[Mapping[str, Sortable], tuple[str, ...]]:
    """Return the arguments of an `OrderBy`.

    Args:
        known: the facts about the rows.
        fixed: the order; None if a request chooses any column that clients may know.
    """
    table = query.table
    names = _choices(table, paged=paged) if fixed is None else [name for name, _ in fixed]
    found = {name: _sortable(query, name, known, paged=paged) for name in (*names, *table.key)}
    return found, table.key


def order_clause(
    query: Parts, texts: Sequence[tuple[str, Any]], places: Mapping[str, str] | None = None
) -> str:  # fmt: skip
    """Return the ORDER BY clause of a fixed order.

    Args:
        places: the SQL of the computed values of `select`.
    """
    table, (up, down) = query.table, query.dialect.ways(nullable=True)
    names = [".".join(parse_order(text)[0]) for text, _ in texts]
    computed = [name in (places or {}) and name not in table.columns for name in names]
    fixed = fixed_order(texts)
    own = [part for part, is_computed in zip(fixed, computed, strict=True) if not is_computed]
    is_down = bool(fixed and fixed[-1][1])
    used = {name for name, _ in own}
    own += [(name, is_down) for name in table.key if name not in used]
    keys = iter(OrderBy(*order_by(query, {}, own, paged=False)).order(own).keys)
    parts = [
        f"{(places or {})[name]}{down if way else up}" if is_computed else str(next(keys))
        for name, (_, way), is_computed in zip(names, fixed, computed, strict=True)
    ]
    return ", ".join([*parts, *map(str, keys)])


def _choices(table: SqlTable, *, paged: bool) -> list[str]:
    """Return the columns that a request may order by, also of related rows."""
    tables = {"": table} | {
        f"{name}.": table.tables[relation.table]
        for name, relation in table.relations.items() if name not in table.columns
    }  # fmt: skip
    return [
        f"{prefix}{name}" for prefix, owner in tables.items()
        for name, column in owner.columns.items()
        if not column.private and not (paged and column.type in _UNPAGED)
    ]  # fmt: skip


def _sortable(query: Parts, name: str, known: Facts, *, paged: bool) -> Sortable:
    path, table = (*name.split("."),), query.table
    target = table.follow(path[:-1])
    assert target is not None  # noqa: S101 - the check has tested it
    column = target.columns[path[-1]]
    sql = _read(query, query.alias, path, column)
    nullable = _may_be_null(table, path) and not known.get(("row", *path))
    is_long = paged and column.type in _LONG and name not in table.key
    again, dialect = _again(query, path, column) if is_long else "", query.dialect
    mark, ways = dialect.cursor_mark(column.type), dialect.ways(nullable=nullable)
    return sql, nullable, again, mark, *ways


def _read(query: Parts, alias: str, path: tuple[str, ...], column: SqlColumn) -> str:
    sql = query.reach(s.Name(0, 0, path[0]), alias, query.table, path)
    return sql + query.dialect.by_value if column.type == "decimal" else sql


def _may_be_null(table: SqlTable, path: tuple[str, ...]) -> bool:
    *relations, last = path
    is_optional = False
    for name in relations:
        relation = table.relations[name]
        is_optional |= relation.optional
        table = table.tables[relation.table]
    return is_optional or table.columns[last].nullable


def _again(query: Parts, path: tuple[str, ...], column: SqlColumn) -> str:
    alias, table = query.alias_of_its_own(), query.table
    sql = _read(query, alias, path, column)
    marks = {name: query.dialect.cursor_mark(table.columns[name].type) for name in table.key}
    identity = " AND ".join(f"{alias}.{quote(name)} = {mark}" for name, mark in marks.items())
    mark, last = query.dialect.cursor_mark(column.type), query.dialect.last_character
    same = f"{identity} AND {sql} >= {mark} AND {sql} < {mark} || {last}"
    rows = f"{query.visible.source(table)} AS {alias}"
    return f"coalesce((SELECT {sql} FROM {rows} WHERE {same}), {mark})"
