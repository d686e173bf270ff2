"""`exists(relation, condition)` and `count(relation, condition)` inside queries."""

from __future__ import annotations

from bbops.diagnostics import suggest
from bbops.expressions import nodes as s
from bbops.expressions import types as t
from bbops.expressions.scope import Scope

RELATED = {"exists": t.BOOLEAN, "count": t.INTEGER}
"""Functions of a query's relations, and what they give."""


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
