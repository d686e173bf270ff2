"""What a query asks of the rows that refer to its row, as SQL."""

from __future__ import annotations

from copy import copy

from bbops.expressions import nodes as s
from bbops.expressions.related import names_of
from bbops.sql.parts import Parts
from bbops.sql.template import Template, seq
from bbops.sql.types import quote


def related(query: Parts, node: s.Call) -> Template:
    """Return `exists` or `count` of the rows that refer to this one."""
    path = names_of(node.args[0]) or ()
    owner = query.owner(node.args[0], path)
    last = owner.table.follow(path[:-1])
    assert last is not None  # noqa: S101 - checked before
    children = last.children[path[-1]]
    key = owner.reach(node, owner.alias, owner.table, (*path[:-1], children.key))
    inner = copy(query)
    inner.table, inner.outer = owner.table.tables[children.table], query
    inner.alias = f"x{next(query.aliases)}"
    wanted = inner.condition(node.args[1]) if len(node.args) > 1 else "1"
    rows = seq(
        f"FROM {quote(children.table)} AS {inner.alias} "
        f"WHERE {inner.alias}.{quote(children.column)} = {key} AND ", wanted,
    )  # fmt: skip
    if node.name == "exists":
        return seq("EXISTS (SELECT 1 ", rows, ")")
    return seq("(SELECT count(*) ", rows, ")")
