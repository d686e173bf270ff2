"""The tree of an expression: nodes with their positions.

Offsets count characters from the start of the expression's scalar.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A part of an expression, from `start` up to `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A number, text, boolean or null."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    """A bare name: a root such as `input`, or a column inside a query."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Member(Node):
    """`of.name`, or `of?.name` which returns null for null."""

    of: Node
    name: str
    optional: bool
    name_start: int


@dataclass(frozen=True, slots=True, eq=False)
class ItemAccess(Node):
    """`of[key]`: a list position or a map key."""

    of: Node
    key: Node


@dataclass(frozen=True, slots=True, eq=False)
class ListOf(Node):
    """`[a, b]`."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    """`not of` or `-of`."""

    op: str
    of: Node


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """Arithmetic `+ - * / %`."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Node):
    """`== != < <= > >=`, `in` and `not in`."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, eq=False)
class Logic(Node):
    """`and`, `or`: the right side runs only if the left side does not decide."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Node):
    """`then if test else other`."""

    test: Node
    then: Node
    other: Node


@dataclass(frozen=True, slots=True, eq=False)
class Filter(Node):
    """`of | name(args)`."""

    name: str
    of: Node
    args: tuple[Node, ...]
    name_start: int


@dataclass(frozen=True, slots=True, eq=False)
class FunctionCall(Node):
    """`name(args)`: a call of a built-in function."""

    name: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Arrow(Node):
    """`name => body` or `(name, place) => body`: an argument of a filter of lists.

    Attributes:
        names: the names of a member and, if it has two, of its index from 0 on.
        starts: the offsets of the names.
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]
    body: Node


_PLACES = frozenset({"start", "end", "name_start", "starts"})


def is_same(one: Any, other: Any) -> bool:
    """Return whether two expressions, or parts of them, are equal apart from their positions."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if type(one) is not type(other):
        return False
    if not isinstance(one, Node):
        return bool(one == other)
    names = [part.name for part in fields(one) if part.name not in _PLACES]
    return all(is_same(getattr(one, name), getattr(other, name)) for name in names)


def names_in(node: Node) -> Iterator[str]:
    """Yield every name in an expression: of values and of their members."""
    if isinstance(node, Name | Member):
        yield node.name
    for part in children(node):
        yield from names_in(part)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and the nodes inside it."""
    yield node
    for inner in children(node):
        yield from walk(inner)


def relations_in(node: Node, roots: Container[str]) -> Iterator[str]:
    """Yield every name that may be a relation of a row: not the members of `input` or `vars`."""
    root = node
    while isinstance(root, Member):
        root = root.of
    if (
        isinstance(root, Name)
        and root.name != "row"
        and (root.name in roots or root.name == "vars")
    ):
        return
    if isinstance(node, Name | Member):
        yield node.name
    for part in children(node):
        yield from relations_in(part, roots)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly inside `node`."""
    match node:
        case Member() | Unary():
            return (node.of,)
        case ItemAccess():
            return (node.of, node.key)
        case ListOf():
            return node.items
        case Binary() | Compare() | Logic():
            return (node.left, node.right)
        case Choice():
            return (node.test, node.then, node.other)
        case Filter():
            return (node.of, *node.args)
        case FunctionCall():
            return node.args
        case Arrow():
            return (node.body,)
        case _:
            return ()


def levels_of(node: Node) -> int:
    """Return the depth of a tree. Does not recurse."""
    found, todo = 0, [(node, 1)]
    while todo:
        inner, level = todo.pop()
        found = max(found, level)
        todo += [(child, level + 1) for child in children(inner)]
    return found


def request_field(*nodes: Node) -> str:
    """Return the path of the only request field in these nodes; empty if there are several."""
    found = {path for node in nodes for path in _request_fields(node)}
    return found.pop() if len(found) == 1 else ""


_REQUEST = frozenset({"input", "params", "query"})


def _request_fields(node: Node) -> Iterator[str]:
    path: list[str] = []
    of = node
    while isinstance(of, Member):
        path.insert(0, of.name)
        of = of.of
    if path and isinstance(of, Name) and of.name in _REQUEST:
        yield ".".join(path)
        return
    for part in children(node):
        yield from _request_fields(part)
