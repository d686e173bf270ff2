"""The part of a `wait` condition that an event must match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.language.expressions import nodes as s

_GIVEN: Final = frozenset({"vars", "input", "params", "query"})


def find_awaited(where: s.Node) -> s.Node | None:
    """Return the value that a part of the event must equal, if the condition fails otherwise.

    Computing it must not fail if the condition would not: it is the first comparison, or a
    constant, or a name with a value.
    """
    for number, conjunct in enumerate(_conjuncts(where)):
        other = _compared(conjunct)
        if other is not None and (number == 0 or _is_given(other)):
            return other
    return None


def _compared(node: s.Node) -> s.Node | None:
    """Return the value that a comparison requires of a part of the event."""
    if not isinstance(node, s.Compare) or node.op != "==":
        return None
    sides = ((node.left, node.right), (node.right, node.left))
    return next((b for a, b in sides if _is_of_event(a) and "event" not in s.names_in(b)), None)


def _conjuncts(node: s.Node) -> Iterator[s.Node]:
    if isinstance(node, s.Logic) and node.op == "and":
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _is_of_event(node: s.Node) -> bool:
    """Return whether a node is the payload, or a value in it as it arrived."""
    while isinstance(node, s.Member | s.ItemAccess):
        if isinstance(node, s.Member) and isinstance(node.of, s.Name):
            return node.of.name == "event" and node.name == "payload"
        node = node.of
    return False


def _is_given(node: s.Node) -> bool:
    if isinstance(node, s.Literal):
        return True
    return isinstance(node, s.Member) and isinstance(node.of, s.Name) and node.of.name in _GIVEN
