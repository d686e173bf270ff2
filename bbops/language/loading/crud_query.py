"""The query of `list`: its fields, and the condition that they form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bbops.language.loading.likes import TYPES
from bbops.language.resources._crud import MOST_VALUES, List
from bbops.language.resources.table import Column, Table
from bbops.source.yaml import made
from bbops.source.yaml.nodes import Map, Mark, Text

RANGES: Final = ("gt", "gte", "lt", "lte")
SIGNS: Final = {"eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
WORDS: Final = ("contains", "startsWith")
_ORDERED: Final = frozenset({"integer", "bigint", "number", "decimal", "datetime", "date", "time"})
_TEXTS: Final = frozenset({"string", "text"})
UNFIT: Final = frozenset({"json", "binary"})
"""Types of columns without filters and sorting."""


@dataclass(frozen=True, slots=True)
class Target:
    """The column of a filter or an order.

    Attributes:
        path: the path in expressions, such as `author.role`.
        like: the column for `like`, such as `users.role`.
        is_nullable: the column may be null, or its relation may lead to no row.
    """

    path: str
    like: str
    column: Column
    is_nullable: bool

    @property
    def query(self) -> str:
        """The name in a request."""
        return query_name(self.path)

    @property
    def usual(self) -> tuple[str, ...]:
        """The operators of `filter: [column]`: those that an index supports."""
        null = ("null",) if self.is_nullable else ()
        ranges = RANGES if self.column.type in _ORDERED else ()
        return ("eq", "ne", "in", *null, *ranges)

    @property
    def every(self) -> tuple[str, ...]:
        """The operators of its type."""
        return (*self.usual, *(WORDS if self.column.type in _TEXTS else ()))


def query_name(path: str) -> str:
    """Return the name of a column in a request: `author_role` for `author.role`."""
    return path.replace(".", "_")


def find_target(path: str, table: str, tables: Mapping[str, Table]) -> Target | None:
    """Return the column at the end of a table's path; None if it does not exist."""
    before, dot, name = path.partition(".")
    columns = tables[table].columns
    if not dot:
        column = columns.get(path)
        if column is None:
            return None
        return Target(path, f"{table}.{path}", column, column.nullable)
    key = columns.get(f"{before}_id")
    to, _, _ = (key.references or "").partition(".") if key is not None else ("", "", "")
    column = tables[to].columns.get(name) if to in tables else None
    if key is None or column is None:
        return None
    is_nullable = key.nullable or column.nullable or tables[to].has_rules
    return Target(path, f"{to}.{name}", column, is_nullable)


def split_order(written: str) -> tuple[str, str]:
    """Return the path of an order, and `asc` or `desc`."""
    path, dot, way = written.rpartition(".")
    return (path, way) if dot and way in {"asc", "desc"} else (written, "asc")


def is_open(target: Target | None) -> bool:
    """Return whether a request may filter and sort by a column, which reveals its values."""
    return target is not None and not target.column.private and target.column.type not in UNFIT


# ---- fields
def query_fields(
    model: List, written: Map, targets: Mapping[str, Target], orders: Sequence[str], at: Mark
) -> Map:
    """Return the shape of the query.

    Args:
        written: the action.
        targets: the existing columns of its filters.
        orders: the orders that a request may choose.
        at: the place of generated parts.
    """
    fields: dict[str, Any] = {}
    for target in targets.values():
        where = _places(written.get("filter")).get(target.path, at)
        operators = {
            f"{operator}?": _operand(operator, target, where)
            for operator in operators_of(model, target)
        }
        fields[f"{target.query}?"] = made.entries(where, {"fields": made.entries(where, operators)})
    if orders:
        rule = {"type": "string", "enum": made.items(at, orders), "default": orders[0]}
        fields["sort?"] = made.entries(at, rule)
    most, usual = (written.get(key, value) for key, value in (("maxLimit", 100), ("limit", 20)))
    limit = {"type": "integer", "minimum": 1, "maximum": most, "default": usual}
    fields |= {"limit?": made.entries(at, limit), "cursor?": "string"}
    if model.total:
        fields["total?"] = made.entries(at, {"type": "boolean", "default": False})
    return made.entries(at, fields)


def _places(node: Any) -> Mapping[str, Mark]:
    if isinstance(node, Map):
        return node.keys_at
    return {str(text): text.mark for text in node or () if isinstance(text, Text)}


def operators_of(model: List, target: Target) -> tuple[str, ...]:
    """Return the operators that a request may use on a column."""
    own = model.filters[target.path]
    return (
        target.usual
        if own is None
        else tuple(operator for operator in target.every if operator in own)
    )


def _operand(operator: str, target: Target, at: Mark) -> Any:
    if operator == "null":
        return "boolean"
    if operator in WORDS:
        return made.entries(at, {"type": "string", "maxLength": 200})
    usual = TYPES.get(target.column.type, "string")
    if operator in RANGES:
        return usual
    is_like = target.column.type in TYPES
    item = made.entries(at, {"like": target.like}) if is_like else usual
    if operator != "in":
        return item
    return made.entries(at, {"items": item, "maxLength": MOST_VALUES})


def both_ways(written: str) -> tuple[str, str]:
    """Return an order, and its reverse."""
    path, way = split_order(written)
    return f"{path}.{way}", f"{path}.{'asc' if way == 'desc' else 'desc'}"


# ---- condition
def conditions(model: List, written: Map, targets: Mapping[str, Target], at: Mark) -> list[Text]:
    """Return a condition for each column from the fields of the query."""
    found = []
    for target in targets.values():
        where = _places(written.get("filter")).get(target.path, at)
        every = [_condition(operator, target) for operator in operators_of(model, target)]
        whole = " and ".join(every)
        found.append(made.text(where, f"({whole})" if len(every) > 1 else whole))
    return found


def _condition(operator: str, target: Target) -> str:
    column, given = target.path, f"query.{target.query}?.{operator}"
    if operator == "null":
        return f"({given} != true or {column} == null) and ({given} != false or {column} != null)"
    if operator == "in":
        holds = f"{column} in {given}"
    elif operator in WORDS:
        holds = f"({column} | {operator}({given}))"
    else:
        holds = f"{column} {SIGNS[operator]} {given}"
    if target.is_nullable and operator in {*WORDS, *RANGES}:
        holds = f"({column} != null and {holds})"
    return f"({given} == null or {holds})"
