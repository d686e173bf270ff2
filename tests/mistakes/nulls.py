"""Which parts of an expression look for null, and whether what they guard would take it."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.expressions import nodes as s
from bbops.language.expressions.nodes import children
from tests.mistakes.words import spelt, walk

_TAKES_NULL = frozenset({"default", "toNumber", "json", "has"})


def guards(tree: s.Node, *, is_text: bool = False) -> Iterator[tuple[s.Node, bool]]:
    """Yield (what looks for null, whether nothing behind it may be null).

    It is a mistake to leave out `x != null and` where the rest needs `x`; `?.` where more is read
    of it or arithmetic is done with it; `| default(…)` where something takes no null.
    """
    for node in walk(tree):
        match node:
            case s.Logic(op=op, left=s.Compare() as left, right=right):
                path = _checked(left, "!=" if op == "and" else "==")
                if path:
                    yield node, any(_needs(one, path) for one in walk(right))
            case s.Member(optional=True):
                yield node, True
            case s.Filter(name="default"):
                yield node, any(_takes_none(parent, node) for parent in walk(tree))


def _checked(node: s.Compare, op: str) -> str:
    """Return the path that a comparison looks for null in."""
    if node.op == op and isinstance(node.right, s.Literal) and node.right.value is None:
        return spelt(node.left)
    return ""


def _needs(parent: s.Node, path: str) -> bool:
    """Return whether a node takes no null of a path directly in it."""
    return any(spelt(part) == path and _takes_none(parent, part) for part in children(parent))


def _takes_none(parent: s.Node, part: s.Node) -> bool:
    match parent:
        case s.Filter(of=of, name=name):
            return of is part and name not in _TAKES_NULL
        case s.Member(optional=optional):
            return parent.of is part and not optional
        case s.Binary() | s.Unary():
            return part in children(parent)
        case s.Compare(op=op):
            return op not in {"==", "!="} and part in children(parent)
        case s.Logic():
            return part in children(parent)
        case _:
            return False
