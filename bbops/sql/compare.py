"""Comparisons over columns as SQL. They are two-valued, as everywhere: null equals null."""

from __future__ import annotations

from bbops.expressions import nodes as s
from bbops.sql.parts import NotInSql, Parts
from bbops.sql.related import members
from bbops.sql.template import Template, commas, joined, seq

_COMPARE = {"==": " IS ", "!=": " IS NOT ", "<": " < ", "<=": " <= ", ">": " > ", ">=": " >= "}


def compare(query: Parts, node: s.Compare) -> Template:
    """Return the template of a comparison, also of `in`."""
    if node.op in {"in", "not in"}:
        found = _member_of(query, node)
        return ("not", found) if node.op == "not in" else found
    left = _compared(query, node.left, node.right)
    right = _compared(query, node.right, node.left)
    return seq("(", left, _COMPARE[node.op], right, ")")


def _compared(query: Parts, node: s.Node, other: s.Node) -> Template:
    """Return one side of a comparison; decimals are compared by value, not as text."""
    if not query.has_columns(node):
        return query.parameter(query.bound(node, query.type_of(other).kind))
    found = query.scalar(node)
    if query.type_of(node).kind != "decimal":
        return found
    if query.path(node) is None:
        raise NotInSql(node.start, "decimals are compared in SQL, but not computed")
    return seq(found, " COLLATE bbops_decimal")


def _member_of(query: Parts, node: s.Compare) -> Template:
    """Return `in`; a null of the column is in a list that has a null."""
    if isinstance(node.right, s.Call) and node.right.name == "list":
        return _among_related(query, node, node.right)
    if query.has_columns(node.right) and not isinstance(node.right, s.ListOf):
        raise NotInSql(node.right.start, "'in' needs a list", "json columns are not searched")
    left = _compared(query, node.left, node.right)
    if isinstance(node.right, s.ListOf):
        items = [_compared(query, item, node.left) for item in node.right.items]
        pairs = zip(node.right.items, items, strict=True)
        nulls = [seq(item, " IS NULL") for of, item in pairs if query.type_of(of).nullable]
        found = seq("(", left, " IN (", commas(items), "))")
    else:
        listed = query.parameter(query.bound_list(node.right))
        nulls = [seq("EXISTS (SELECT 1 FROM json_each(", listed, ") WHERE value IS NULL)")]
        found = seq("(", left, " IN (SELECT value FROM json_each(", listed, ")))")
    if not nulls or not query.type_of(node.left).nullable:
        return found
    return seq("(", found, " OR (", left, " IS NULL AND (", joined(nulls, " OR "), ")))")


def _among_related(query: Parts, node: s.Compare, among: s.Call) -> Template:
    """Return `value in list(relation, column)`."""
    member = query.type_of(among.args[1])
    left, rows = _compared(query, node.left, among.args[1]), members(query, among)
    if member.kind == "decimal":
        left = seq(left, " COLLATE bbops_decimal")
    found = seq("(", left, " IN ", rows, ")")
    if not (query.type_of(node.left).nullable and member.nullable):
        return found
    null = seq("EXISTS (SELECT 1 FROM ", rows, " WHERE v IS NULL)")
    return seq("(", found, " OR (", left, " IS NULL AND ", null, "))")
