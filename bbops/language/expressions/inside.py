"""Find every expression that stands in a model or a value, and every node of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from bbops.language.expressions.nodes import Logic, Node, children
from bbops.language.expressions.values import Expression, Holder, ListValue, MapValue, Template
from bbops.source.yaml.document import Mark


@dataclass(frozen=True, slots=True)
class Found:
    """An expression of a file: its tree, and the text it stands in."""

    node: Node
    mark: Mark


def expressions(value: Any) -> Iterator[Found]:
    """Yield every expression in a model, in no order."""
    match value:
        case BaseModel():
            for name in type(value).model_fields:
                yield from expressions(getattr(value, name))
        case dict():
            for one in value.values():
                yield from expressions(one)
        case list() | tuple():
            for one in value:
                yield from expressions(one)
        case Holder():
            yield from expressions(value.held())
        case MapValue():
            for _, one in value.items:
                yield from expressions(one)
        case ListValue():
            yield from expressions(value.items)
        case Expression() if value.mark is not None:
            yield Found(value.node, value.mark)
        case Template() if value.mark is not None:
            for part in value.parts:
                if isinstance(part, Node):
                    yield Found(part, value.mark)


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all inside it, outer ones first."""
    yield node
    for inner in children(node):
        yield from nodes(inner)


def conjuncts(node: Node) -> Iterator[Node]:
    """Yield the parts that `and` joins, from left to right; a node that is no `and` is one."""
    if isinstance(node, Logic) and node.op == "and":
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node
