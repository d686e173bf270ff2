"""Queries about related rows (`exists`, `count`, `sum`), `rank` and `rowNumber`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bbops.base.diagnostics import suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.known import Facts
from bbops.language.expressions.narrow import reads_row
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type

RELATED = {
    "exists": 1, "count": 1, "sum": 2, "list": 2, "avg": 2, "min": 2, "max": 2, "first": 2,
    "last": 2,
}  # fmt: skip
"""Functions of a query's relations, with their numbers of arguments; a condition may follow."""


RELATED_WORDS = {
    "exists": "exists(relation, condition?) → boolean",
    "count": "count(relation, condition?) → integer",
    "sum": "sum(relation, column, condition?) → number, 0 of nothing",
    "list": "list(relation, column, condition?) → list",
    "avg": "avg(relation, column, condition?) → number or null",
    "min": "min(relation, column, condition?) → the column's type, or null",
    "max": "max(relation, column, condition?) → the column's type, or null",
    "first": "first(relation, column, condition?) → the column's type, or null",
    "last": "last(relation, column, condition?) → the column's type, or null",
}
"""The syntax and the result of each function."""
_NEEDS = {
    "sum": "number", "avg": "number", "min": "number text datetime date",
    "max": "number text datetime date",
}  # fmt: skip


def asks_related(scope: Scope, node: s.FunctionCall) -> bool:
    """Return whether a call reads the rows that refer to a query's row."""
    return node.name in RELATED and scope.related is not None


def condition_of(node: s.FunctionCall) -> s.Node | None:
    """Return the condition of such a call; None for all rows."""
    least = RELATED[node.name]
    return node.args[least] if len(node.args) > least else None


def check_related(at: Checks, node: s.FunctionCall) -> Type:
    """Report the mistakes of `sum(relation, column, condition)` and return the result's type."""
    scope, least = at.scope, RELATED[node.name]
    if not least <= len(node.args) <= least + 1:
        wanted = f"takes {least} to {least + 1} arguments, got {len(node.args)}"
        return at.wrong(node.start, "argument-count", f"function '{node.name}' {wanted}")
    inner = related_scope(scope, names_of(node.args[0]))
    if isinstance(inner, str):
        message = f"'{node.name}' needs a relation of table '{scope.table}' to many rows"
        return at.wrong(node.args[0].start, "relation", message, inner)
    child, wanted_rows = at.within(inner), condition_of(node)
    _warn_of_unrelated(at, node, wanted_rows)
    facts = child.condition(wanted_rows)[0] if wanted_rows is not None else {}
    return _result(child, node, facts)


def _warn_of_unrelated(at: Checks, node: s.FunctionCall, wanted: s.Node | None) -> None:
    """Warn of a condition that is the same for all rows of the relation: it reads none of them."""
    path, table = names_of(node.args[0]), at.scope.related
    found = table.many_types(path) if table is not None and path else None
    if wanted is None or found is None or any(name in found[1] for name in _names_in(wanted)):
        return
    relation = ".".join(path or ())
    at.warn(
        wanted.start, "unrelated-condition",
        f"the condition of '{node.name}' reads no column of '{relation}'",
        f"use a column of table '{found[0].name}', or move the condition out of '{node.name}'",
    )  # fmt: skip


def _names_in(node: s.Node) -> set[str]:
    own = {node.name} if isinstance(node, s.Name) else set()
    return own.union(*(_names_in(part) for part in s.children(node)))


def _result(at: Checks, node: s.FunctionCall, facts: Facts) -> Type:
    if node.name in {"exists", "count"}:
        return t.BOOLEAN if node.name == "exists" else t.INTEGER
    if node.name == "list":
        with at.scope.knowing(facts):
            return t.list_of(at.infer(node.args[1]))
    with at.scope.knowing(facts):
        of = at.infer(node.args[1])
    words = _NEEDS.get(node.name, "")
    if words and not any(t.fits(of, kind) for kind in words.split()):
        wanted = "a number" if words == "number" else words.replace(" ", ", ")
        message = f"'{node.name}' needs {wanted}, got {of}"
        return at.wrong(node.args[1].start, "type", message, hides=of.hides)
    if node.name == "sum":
        return of.not_null()  # a null is not added
    if node.name == "avg":
        found = Type("decimal") if of.kind == "decimal" else t.NUMBER
        return t.concealed(found.or_null(), by=[of])
    return of.or_null()


def names_of(node: s.Node) -> tuple[str, ...] | None:
    """Return the names of `team.members`; None for any other node."""
    if isinstance(node, s.Name):
        return (node.name,)
    of = names_of(node.of) if isinstance(node, s.Member) else None
    return (*of, node.name) if of and isinstance(node, s.Member) else None


def related_scope(scope: Scope, path: tuple[str, ...] | None) -> Scope | str:
    """Return the scope of the rows at a path, or the reason why the path leads to no rows."""
    table = scope.related
    assert table is not None  # noqa: S101 - asked only in a query
    found = table.many_types(path) if path else None
    if found is None:
        hint = suggest(path[-1], table.children) if path else ""
        return hint or "known here: " + (", ".join(sorted(table.children)) or "none")
    return scope.around(*found)


# ---- `rank` and `rowNumber`: the position of a row among all rows of a query

WINDOWS: Final[Mapping[str, str]] = {
    "rank": "rank(order, partition?) → integer, the same for ties",
    "rowNumber": "rowNumber(order, partition?) → integer, ties in the order of the key",
}
"""The syntax and the result of each function."""
_WAYS: Final = frozenset({"asc", "desc"})


def asks_window(scope: Scope, node: s.FunctionCall) -> bool:
    """Return whether a call reads the position of a query's row."""
    return node.name in WINDOWS and scope.related is not None


def order_of(node: s.Node) -> tuple[s.Node, bool]:
    """Return the node that `points.desc` orders by, and whether the order is descending."""
    if isinstance(node, s.Member) and node.name in _WAYS and not node.optional:
        return node.of, node.name == "desc"
    return node, False


def check_window(at: Checks, node: s.FunctionCall) -> Type:
    """Report the mistakes of `rank(points.desc, team_id)` and return the type of the result."""
    if not at.scope.windows:
        return at.wrong(
            node.start, "window", f"'{node.name}' stands in the 'select' of a find without 'after'",
            "give it a name in 'select', and look at it in a step after this one",
        )  # fmt: skip
    if not 1 <= len(node.args) <= 2:
        message = f"function '{node.name}' takes 1 to 2 arguments, got {len(node.args)}"
        return at.wrong(node.start, "argument-count", message)
    order, _ = order_of(node.args[0])
    found = [at.infer(part) for part in (order, *node.args[1:])]
    for part, of in zip((order, *node.args[1:]), found, strict=True):
        if of.kind in {"list", "map", "any", "null"} and not of.is_never:
            kind = "json" if of.kind == "any" else of.kind
            message = f"'{node.name}' cannot compare values of kind {kind}"
            return at.wrong(part.start, "type", message, hides=of.hides)
    if not reads_row(order, at.scope):
        message = f"'{node.name}' needs a column to order by"
        return at.wrong(order.start, "window", message, "write 'points.desc'")
    return t.concealed(t.INTEGER, by=found[:1])
