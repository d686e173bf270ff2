"""Which members of a name, such as `headers`, expressions read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bbops.language.expressions.inside import expressions
from bbops.language.expressions.nodes import ItemAccess, Literal, Member, Name, Node, children

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
