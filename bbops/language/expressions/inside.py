"""Find every expression in a model or a value, and every node of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from bbops.language.expressions.nodes import Logic, Node, children
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
