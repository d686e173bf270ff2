"""`rank` and `rowNumber`: the position of a row among all rows of a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.narrow import reads_row
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type

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
