"""The names in the expressions of a value, and where they stand in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bbops.language.expressions import nodes as s
from bbops.language.expressions.nodes import children
from bbops.language.expressions.values import Expression, Template, read_bare, read_value
from bbops.source.yaml.document import Document, Text
from bbops.source.yaml.places import _measure
from tests.mistakes.spots import Spot


@dataclass(frozen=True, slots=True)
class Word:
    """One name in an expression: of a root or column, a member, a filter or a function."""

    name: str
    start: int
    node: s.Node


def trees(spot: Spot) -> tuple[s.Node, ...]:
    """Return the trees of a value's expressions; none where it has none."""
    if not isinstance(spot.value, Text):
        return ()
    if spot.role in {"expression", "select"}:
        bare = read_bare(spot.value)
        return (bare.node,) if isinstance(bare, Expression) else ()
    if spot.role != "value":
        return ()
    match read_value(spot.value):
        case Expression(node=node):
            return (node,)
        case Template(parts=parts):
            return tuple(part for part in parts if isinstance(part, s.Node))
        case _:
            return ()


def walk(node: s.Node) -> Iterator[s.Node]:
    """Yield a node and all below it."""
    yield node
    for part in children(node):
        yield from walk(part)


def words(tree: s.Node) -> Iterator[Word]:
    """Yield every name of an expression."""
    for node in walk(tree):
        match node:
            case s.Name(name=name, start=start) | s.FunctionCall(name=name, start=start):
                yield Word(name, start, node)
            case s.Member(name=name, name_start=start) | s.Filter(name=name, name_start=start):
                yield Word(name, start, node)


def offsets(document: Document, spot: Spot) -> list[int]:
    """Return for each character of a text where it stands in the file."""
    return list(
        _measure(document.source, spot.value.mark, document.indent(spot.value.mark)).offsets
    )


def spelt(node: s.Node) -> str:
    """Return a path such as `vars.user.id`; empty for what is no path."""
    match node:
        case s.Name(name=name):
            return name
        case s.Member(of=of, name=name):
            return f"{spelt(of)}.{name}" if spelt(of) else ""
        case _:
            return ""


def reads(text: str, path: str) -> bool:
    """Return whether a text reads something of a path, such as `input.email`."""
    steps = r"\??\.".join(map(re.escape, path.split(".")))
    return re.search(rf"(?<![\w.-]){steps}(?!\w)", text) is not None
