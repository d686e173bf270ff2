"""Find names of a query that are misspelt, to say so instead of what comes of them."""

from __future__ import annotations

from bbops.base.diagnostics import suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions.scope import Scope


def find_misspelt(scope: Scope, *nodes: s.Node) -> tuple[s.Member, str] | None:
    """Return the first query read that is not declared though its like is, and the hint."""
    for node in nodes:
        if isinstance(node, s.Member) and isinstance(node.of, s.Name) and node.of.name == "query":
            query = scope.roots.get("query")
            declared = (query.fields if query is not None else None) or {}
            hint = "" if node.name in declared else suggest(node.name, declared)
            if hint:
                return node, hint
    return None
