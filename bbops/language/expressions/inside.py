"""The expressions in a model or value, their nodes, and the members that they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from bbops.base.diagnostics import suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions.nodes import (
    ItemAccess,
    Literal,
    Logic,
    Member,
    Name,
    Node,
    children,
)
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.values import Expression, Holder, ListValue, MapValue, Template
from bbops.source.yaml.document import Mark


@dataclass(frozen=True, slots=True)
class PlacedExpression:
    """An expression of a file: its tree, and its place."""

    node: Node
    mark: Mark


def expressions(value: Any) -> Iterator[PlacedExpression]:
    """Yield every expression in a model, in no order."""
    match value:
        case BaseModel():
            for name in type(value).model_fields:
                yield from expressions(getattr(value, name))
        case dict():
            for item in value.values():
                yield from expressions(item)
        case list() | tuple():
            for item in value:
                yield from expressions(item)
        case Holder():
            yield from expressions(value.held())
        case MapValue():
            for _, item in value.items:
                yield from expressions(item)
        case ListValue():
            yield from expressions(value.items)
        case Expression() if value.mark is not None:
            yield PlacedExpression(value.node, value.mark)
        case Template() if value.mark is not None:
            for part in value.parts:
                if isinstance(part, Node):
                    yield PlacedExpression(part, value.mark)


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes inside it, outer nodes first."""
    yield node
    for inner in children(node):
        yield from nodes(inner)


def conjuncts(node: Node) -> Iterator[Node]:
    """Yield the parts of an `and`, from left to right; any other node is its own single part."""
    if isinstance(node, Logic) and node.op == "and":
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node


# ---- Which members of a name, such as `headers`, expressions read

ANY_MEMBER: Final = ""
"""Stands for whichever: the name is read as a whole, or by a key that is computed."""


def read_names(value: Any, root: str) -> Iterator[str]:
    """Yield the members of a name that the expressions in a model read, in no order."""
    for found in expressions(value):
        yield from members(found.node, root)


def members(node: Node, root: str) -> Iterator[str]:
    """Yield the members of a name that an expression reads."""
    match node:
        case Member(of=Name(name=of), name=str(name)) if of == root:
            yield name
        case ItemAccess(of=Name(name=of), key=Literal(value=str(name))) if of == root:
            yield name
        case Name(name=name) if name == root:
            yield ANY_MEMBER
        case _:
            for inner in children(node):
                yield from members(inner, root)


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
