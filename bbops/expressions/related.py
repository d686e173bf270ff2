"""`exists(relation, condition)` and `count(relation, condition)` inside queries."""

from __future__ import annotations

from bbops.diagnostics import suggest
from bbops.expressions import nodes as s
from bbops.expressions import types as t
from bbops.expressions.checks import Checks
from bbops.expressions.scope import Scope
from bbops.expressions.types import Type

RELATED = {"exists": t.BOOLEAN, "count": t.INTEGER}
"""Functions of a query's relations, and what they give."""


def asks_related(scope: Scope, node: s.Call) -> bool:
    """Return whether a call asks for the rows that refer to a query's row."""
    return node.name in RELATED and scope.related is not None


def check_related(at: Checks, node: s.Call) -> Type:
    """Report the mistakes of `exists(relation, condition)` and return the type of its result."""
    scope, known = at.scope, at.scope.known
    if not 1 <= len(node.args) <= 2:
        message = f"function '{node.name}' takes 1 to 2 arguments, got {len(node.args)}"
        return at.wrong(node.start, "argument-count", message)
    facts = known.facts
    known.facts = {path: fact for path, fact in facts.items() if path[0] != "row"}
    inner = related_scope(scope, node)
    if isinstance(inner, str):
        message = f"'{node.name}' needs a relation of table '{scope.table}' to many rows"
        at.wrong(node.args[0].start, "relation", message, inner)
    elif len(node.args) == 2:
        at.within(inner).condition(node.args[1])
    known.facts = facts
    return RELATED[node.name]


def names_of(node: s.Node) -> tuple[str, ...] | None:
    """Return the names of `team.members`; None for anything else."""
    if isinstance(node, s.Name):
        return (node.name,)
    of = names_of(node.of) if isinstance(node, s.Member) else None
    return (*of, node.name) if of and isinstance(node, s.Member) else None


def related_scope(scope: Scope, node: s.Call) -> Scope | str:
    """Return the scope of the condition, or why the first argument is no relation."""
    table = scope.related
    assert table is not None  # noqa: S101 - asked only in a query
    path = names_of(node.args[0]) if node.args else None
    found = table.many_types(path) if path else None
    if found is None:
        hint = suggest(path[-1], table.children) if path else ""
        return hint or "known here: " + (", ".join(sorted(table.children)) or "none")
    target, types = found
    inner = scope.inside(target.name, {**(scope.columns or {}), **types}, related=target)
    inner.roots = scope.roots  # `row` is the outer one
    return inner
