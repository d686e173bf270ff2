"""Comparisons over columns as SQL. They are two-valued, as everywhere: null equals null."""

from __future__ import annotations

from bbops.language.expressions import nodes as s
from bbops.language.expressions.conversions import form_beside
from bbops.language.sql.dialect import Template, Use, joined, seq
from bbops.language.sql.parts import NotInSql, Parts
from bbops.language.sql.related import members

_NATIVE = frozenset({"uuid", "time"})
"""Column types that an expression sees as text, and that an index knows as they are."""


def compare(query: Parts, node: s.Compare) -> Template:
    """Return the template of a comparison, also of `in`."""
    if node.op in {"in", "not in"}:
        found = _member_of(query, node)
        return ("not", found) if node.op == "not in" else found
    if node.op in {"==", "!="}:
        return _equal(query, node)
    left = _side(query, node.left, node.right, "order")
    right = _side(query, node.right, node.left, "order")
    return query.dialect.ordered(left, node.op, right, _kind(query, node.left))


def _equal(query: Parts, node: s.Compare) -> Template:
    left = _side(query, node.left, node.right, "equal")
    right = _side(query, node.right, node.left, "equal")
    # where only one side is read from a row, the check has seen that not both are null
    are_columns = query.has_columns(node.left) and query.has_columns(node.right)
    null = are_columns and all(query.type_of(of).nullable for of in (node.left, node.right))
    make = query.dialect.equal if node.op == "==" else query.dialect.unequal
    return make(left, right, null=null)


def _side(
    query: Parts, node: s.Node, other: s.Node, use: Use, *, native: bool = True
) -> Template:  # fmt: skip
    """Return one side of a comparison; decimals are compared by value, not as text.

    Args:
        native: both sides may be as they are stored, not as an expression sees them.
    """
    native = native and use == "equal"
    if not query.has_columns(node):
        beside = (native and _native(query, other)) or _kind(query, other)
        return query.given(node, beside, use, _form(query, node, other))
    of = _native(query, node)
    if native and of and _native(query, other) in {of, "given"}:
        return query.read(node, query.path(node) or ())
    if _is_json(query, node):
        return query.dialect.json_text(query.scalar(node))
    found = query.scalar(node)
    return _by_value(query, node, found) if query.type_of(node).kind == "decimal" else found


def _form(query: Parts, node: s.Node, other: s.Node) -> str:
    return form_beside(query.type_of(node), query.type_of(other))


def _native(query: Parts, node: s.Node) -> str:
    """Return the type of a column that is compared as it is stored; `given` for no column."""
    path = query.path(node)
    if path is None:
        return "" if query.has_columns(node) else "given"
    of = query.column_type(node, path)
    return of if of in _NATIVE else ""


def _kind(query: Parts, node: s.Node) -> str:
    """Return the kind of a value, or of the members of a list; `json` of a json column."""
    of = query.type_of(node)
    if _is_json(query, node):
        return "json"
    return of.item.kind if of.kind == "list" and of.item is not None else of.kind


def _is_json(query: Parts, node: s.Node) -> bool:
    path = query.path(node)
    return path is not None and query.column_type(node, path) == "json"


def _by_value(query: Parts, node: s.Node, found: Template) -> Template:
    found = found if query.path(node) else query.dialect.exact(found)
    return seq(found, query.dialect.by_value)


def _member_of(query: Parts, node: s.Compare) -> Template:
    """Return `in`; a null of the column is in a list that has a null."""
    if isinstance(node.right, s.FunctionCall) and node.right.name == "list":
        return _among_related(query, node, node.right)
    if query.has_columns(node.right) and not isinstance(node.right, s.ListOf):
        raise NotInSql(node.right.start, "'in' needs a list", "json columns cannot be searched")
    if isinstance(node.right, s.ListOf):
        return _among(query, node, node.right)
    left = _side(query, node.left, node.right, "equal")
    beside = _native(query, node.left) or _kind(query, node.left)
    listed = query.given_list(node.right, beside, _form(query, node.right, node.left))
    found = query.dialect.in_list(left, listed)
    return _or_null(query, node, found, left, [query.dialect.has_null(listed)])


def _among(query: Parts, node: s.Compare, among: s.ListOf) -> Template:
    """Return whether a value is one of those that are written there."""
    native = not query.has_columns(among)
    left = _side(query, node.left, among, "equal", native=native)
    items = [_side(query, item, node.left, "equal", native=native) for item in among.items]
    pairs = zip(among.items, items, strict=True)
    nulls = [seq(item, " IS NULL") for of, item in pairs if query.type_of(of).nullable]
    return _or_null(query, node, query.dialect.among(left, items), left, nulls)


def _or_null(
    query: Parts, node: s.Compare, found: Template, left: Template, nulls: list[Template]
) -> Template:
    if not nulls or not query.type_of(node.left).nullable:
        return found
    return seq("(", found, " OR (", left, " IS NULL AND (", joined(nulls, " OR "), ")))")


def _among_related(query: Parts, node: s.Compare, among: s.FunctionCall) -> Template:
    """Return `value in list(relation, column)`."""
    member, rows = query.type_of(among.args[1]), members(query, among)
    if query.has_columns(node.left):
        left = query.scalar(node.left)
    else:
        left = query.given(
            node.left, member.kind, "equal", form_beside(query.type_of(node.left), member)
        )
    if member.kind == "decimal":
        left = seq(left, query.dialect.by_value)
    found = seq("(", left, " IN ", rows, ")")
    if not (query.type_of(node.left).nullable and member.nullable):
        return found
    alias = query.dialect.list_alias
    null = seq("EXISTS (SELECT 1 FROM ", rows, f"{alias} WHERE v IS NULL)")
    return seq("(", found, " OR (", left, " IS NULL AND ", null, "))")
