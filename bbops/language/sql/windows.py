"""`rank` and `rowNumber` as SQL."""

from __future__ import annotations

from bbops.language.expressions import nodes as s
from bbops.language.expressions.windows import order_of
from bbops.language.sql.parts import Parts
from bbops.language.sql.template import Template, seq
from bbops.runtime.values.identifiers import quote


def window(query: Parts, node: s.FunctionCall) -> Template:
    """Return the place of a row among all that the query finds; null is last."""
    order, is_down = order_of(node.args[0])
    up, down = query.dialect.ways(nullable=True)
    way = down if is_down else up
    apart = seq("PARTITION BY ", _compared(query, node.args[1]), " ") if node.args[1:] else ""
    by = seq(apart, "ORDER BY ", _compared(query, order), way)
    if node.name == "rank":
        return seq("rank() OVER (", by, ")")
    plain = " DESC" if is_down else ""
    key = "".join(f", {query.alias}.{quote(name)}{plain}" for name in query.table.key)
    return seq("row_number() OVER (", by, f"{key})")


def _compared(query: Parts, node: s.Node) -> Template:
    kind, dialect = query.type_of(node).kind, query.dialect
    behind = {"decimal": dialect.by_value, "text": dialect.by_code_point}.get(kind, "")
    return seq(query.scalar(node), behind)
