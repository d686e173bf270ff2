"""Facts that conditions prove about values that may be null.

A query computes the parts without columns before the database reads a row. So a part that reads
columns proves nothing of other values.
"""

from __future__ import annotations

from bbops.language.expressions import nodes as s
from bbops.language.expressions.known import Facts, Path
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type

Outcomes = tuple[Facts, Facts]
"""The facts if a condition is true, and if it is false."""


def path_of(node: s.Node, scope: Scope) -> Path | None:
    """Return the names that lead to a value; None for a computed value."""
    match node:
        case s.Name():
            return (scope.row, node.name) if is_column(node, scope) else (node.name,)
        case s.Member():
            of, last = path_of(node.of, scope), node.name
            return None if of is None else (*of, last)
        case s.ItemAccess(key=s.Literal(value=str() | int() as key)) if type(key) is not bool:
            of = path_of(node.of, scope)
            return None if of is None else (*of, key)
        case _:
            return None


def is_column(node: s.Name, scope: Scope) -> bool:
    """Return whether a bare name is a column."""
    free = scope.columns is not None and node.name != "vars"
    return free and node.name not in scope.roots


def spelt(path: Path, scope: Scope) -> str:
    """Return a path in the syntax of expressions."""
    is_bare = scope.columns is not None and path[0] == scope.row and len(path) > 1
    name, *rest = path[1:] if is_bare else path
    parts = [f".{part}" if isinstance(part, str) else f"[{part}]" for part in rest]
    return f"{name}{''.join(parts)}"


def reads_row(node: s.Node, scope: Scope) -> bool:
    """Return whether any part of a query's expression reads a column."""
    if "row" not in scope.roots:
        return False
    if isinstance(node, s.Name):
        return node.name == "row" or is_column(node, scope)
    return any(reads_row(part, scope) for part in s.children(node))


def outcomes(node: s.Node, scope: Scope) -> Outcomes:
    """Return the facts of both outcomes of a condition. Its parts must have been checked."""
    match node:
        case s.Unary(op="not"):
            yes, no = outcomes(node.of, scope)
            return _kept(node, scope, no), _kept(node, scope, yes)
        case s.Logic():
            return _logic(node, scope)
        case s.Compare(op="==" | "!="):
            same, other = (_kept(node, scope, facts) for facts in _equality(node, scope))
            return (same, other) if node.op == "==" else (other, same)
        case s.Compare(op="in" | "not in"):
            item = scope.type_of(node.right).item
            found = _never_null(node.left, scope) if item and not item.nullable else {}
            found = _kept(node, scope, found)
            return (found, {}) if node.op == "in" else ({}, found)
        case s.Filter(name="has"):
            return _kept(node, scope, _has(node, scope)), {}
        case s.Name() | s.Member() | s.ItemAccess():
            found = _never_null(node, scope)  # it was found to be true or false
            return found, found
        case _:
            return {}, {}


def _kept(node: s.Node, scope: Scope, facts: Facts) -> Facts:
    if not facts or not reads_row(node, scope):
        return facts
    return {path: fact for path, fact in facts.items() if str(path[0]).startswith("row")}


def _logic(node: s.Logic, scope: Scope) -> Outcomes:
    left, right = outcomes(node.left, scope), outcomes(node.right, scope)
    if node.op == "or":
        left, right = left[::-1], right[::-1]
    both = {**left[0], **right[0]}
    # Either side may have decided; where the right one did, the left one went the other way.
    last = {**left[0], **right[1]}
    either = {path: fact for path, fact in left[1].items() if last.get(path) is fact}
    found = both, _kept(node, scope, either)
    return found if node.op == "and" else found[::-1]


def _equality(node: s.Compare, scope: Scope) -> Outcomes:
    """Return the facts if two values are equal, and if they differ."""
    sides = ((node.left, node.right), (node.right, node.left))
    for side, other in sides:
        if isinstance(other, s.Literal) and other.value is None:
            path = path_of(side, scope)
            return {} if path is None else {path: False}, _never_null(side, scope)
    found: dict[Path, bool] = {}
    for side, other in sides:
        if not scope.type_of(other).nullable:
            found |= _never_null(side, scope)
    return found, {}


def _has(node: s.Filter, scope: Scope) -> Facts:
    """Return the facts of `input | has('bio')`: a field is null only if it is left out."""
    found = dict(_never_null(node.of, scope))
    path, fields = path_of(node.of, scope), scope.type_of(node.of).fields or {}
    for name in node.args[:1]:
        if path and isinstance(name, s.Literal) and _is_absent(fields.get(str(name.value))):
            found[*path, str(name.value)] = True
    return found


def _is_absent(of: Type | None) -> bool:
    return of is not None and of.absent


def _never_null(node: s.Node, scope: Scope) -> Facts:
    """Prove that a value is not null, and so is everything on its path."""
    path = path_of(node, scope)
    return {} if path is None else {path[:size]: True for size in range(1, len(path) + 1)}
