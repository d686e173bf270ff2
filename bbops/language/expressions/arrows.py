"""Arrow functions of filters in the check: the types of members and of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.known import Facts
from bbops.language.expressions.types import Type
from bbops.runtime.values.filters import FILTERS

_CONDITIONS: Final = frozenset({"filter", "some", "every", "first", "last", "length"})
"""Filters whose arrow function decides whether a member counts."""

_NEEDS: Final[Mapping[str, str]] = {
    "sum": "number", "avg": "number", "flatMap": "list", "toMap": "text integer",
    "sort": "text number datetime date boolean", "min": "text number datetime date boolean",
    "max": "text number datetime date boolean",
}  # fmt: skip
"""The required result type of the first arrow function of a filter."""

_TAKES_NULL: Final = frozenset({"sort", "min", "max"})


def check_arrows(at: Checks, node: s.Filter, of: Type) -> tuple[list[Type], Facts]:
    """Return the type of each argument of a filter, and the facts that its condition proves.

    The type of an arrow function is the type of its result for a member.
    """
    known = FILTERS.get(node.name)
    takes = known.arrows if known is not None else {}
    found: list[Type] = []
    facts: Facts = {}
    for place, arg in enumerate(node.args):
        if isinstance(arg, s.Arrow):
            is_taken = place in takes and of.kind in {"list", "any", "null"}
            result, proved = _arrow(at, node, arg, of, place, is_taken=is_taken)
            facts = facts or proved
        elif place in takes and not _takes_values(node, of):
            result = _no_arrow(at, node, arg, of)
        else:
            result = at.infer(arg)
        found.append(result)
    return found, facts


def _takes_values(node: s.Filter, of: Type) -> bool:
    """Return whether a filter also accepts a plain value instead of its arrow function."""
    return node.name == "sort" or (node.name in {"min", "max"} and of.kind != "list")


def check_members(at: Checks, node: s.Filter, of: Type) -> bool:
    """Report members that a filter without an arrow function rejects; return whether it did."""
    if node.args and node.name != "flatten":
        return False
    if node.name in {"min", "max"} and of.kind not in {"list", "any", "null"}:
        message = f"filter '{node.name}' of a number takes 1 argument, got 0"
        at.wrong(node.name_start, "argument-count", message)
        return True
    kinds = ["list"] if node.name == "flatten" else _NEEDS.get(node.name, "").split()
    item = of.item
    if item is None or not kinds or node.name == "sort":
        return False
    if not any(t.fits(item, kind) for kind in kinds):
        message = f"'{node.name}' needs a list of {' or '.join(kinds)}, got {of}"
        hint = "" if node.name == "flatten" else _written(node.name, item)
        at.wrong(node.name_start, "type", message, hint)
        return True
    if t.may_be_null(item) and node.name not in _TAKES_NULL:
        message = f"members of this list may be null, and '{node.name}' takes no null"
        at.wrong(
            node.name_start, "maybe-null", message, "put '| filter(one => one != null)' before"
        )
        return True
    return False


def _written(name: str, item: Type, field: str = "…") -> str:
    if item.kind not in {"map", "any"}:
        return ""
    numbers = [key for key, type_ in (item.fields or {}).items() if t.fits(type_, "number")]
    field = field if field != "…" or not numbers else numbers[0]
    return f"write '{name}(row => row.{field})'"


def _arrow(
    at: Checks, node: s.Filter, arrow: s.Arrow, of: Type, place: int, *, is_taken: bool
) -> tuple[Type, Facts]:
    if not is_taken:
        message = f"filter '{node.name}' takes no arrow function here"
        return at.wrong(arrow.start, "type", message), {}
    member = t.concealed(of.item or t.ANY, by=[of] if of.private else [])
    inner = _within(at, arrow, [member, t.INTEGER])
    if node.name in _CONDITIONS:
        return t.BOOLEAN, inner.condition(arrow.body)[0]
    found = inner.infer(arrow.body)
    kinds = _NEEDS.get(node.name, "any").split() if place == 0 else ["any"]
    if not any(t.fits(found, kind) for kind in kinds):
        message = f"the arrow function of '{node.name}' needs to give {' or '.join(kinds)}"
        mistake = f"{message}, got {found}"
        return at.wrong(arrow.body.start, "type", mistake, hides=found.hides), {}
    if node.name in _NEEDS and place == 0 and node.name not in _TAKES_NULL:
        found = inner.without_null(arrow.body, found, f"'{node.name}'")
    return found, {}


def _within(at: Checks, arrow: s.Arrow, given: Sequence[Type]) -> Checks:
    """Return the check of an arrow function's body, which also knows its names."""
    scope = at.scope
    roots = dict(scope.roots)
    for name, start, of in zip(arrow.names, arrow.starts, given, strict=False):
        if name in roots or name == "vars" or arrow.names.count(name) > 1:
            what = "is a name that expressions have already"
            at.wrong(start, "reserved-name", f"'{name}' {what}", "use another name")
        roots[name] = of
        scope.known.forget(name)
    return at.within(replace(scope, roots=roots))


def _no_arrow(at: Checks, node: s.Filter, arg: s.Node, of: Type) -> Type:
    """Report a plain value in the place of an arrow function, with the syntax in the hint."""
    at.infer(arg)
    field = arg.value if isinstance(arg, s.Literal) and isinstance(arg.value, str) else "…"
    hint = _written(node.name, of.item or t.ANY, field) or f"write '{node.name}(one => …)'"
    return at.wrong(arg.start, "type", f"filter '{node.name}' needs an arrow function", hint)


def arrow_result(node: s.Filter, of: Type, args: Sequence[Type], facts: Facts) -> Type | None:
    """Return the type of a filter's result if its arrow functions decide it; else None."""
    item = t.concealed(of.item or t.ANY, by=[of] if of.private else [])
    given = args[0] if args and isinstance(node.args[0], s.Arrow) else None
    match node.name:
        case "map" if given is not None:
            return t.list_of(given)
        case "flatMap" if given is not None:
            return t.list_of(t.concealed(given.item or t.ANY, by=[given] if given.private else []))
        case "filter" if given is not None:
            return t.list_of(_narrowed(item, node.args[0], facts))
        case "groupBy" if given is not None:
            return t.list_of(t.map_of({"key": given, "rows": t.list_of(item)}))
        case "toMap" if given is not None:
            rest = args[1] if len(args) > 1 else item
            return t.concealed(t.map_of({}, rest=rest.or_null()), by=[given])
        case "entries":
            values = [*(of.fields or {}).values(), *([of.rest] if of.rest else [])]
            value = t.joined(values) if of.fields or of.rest else t.ANY
            return t.list_of(t.map_of({"key": t.TEXT, "value": value.as_read()}))
        case "zip" if args:
            other = args[0].item or t.ANY
            return t.list_of(t.map_of({"left": item, "right": other}))
        case "flatten":
            return t.list_of(t.concealed(item.item or t.ANY, by=[item] if item.private else []))
        case "chunk":
            return t.list_of(t.list_of(item))
        case "sum" | "avg":
            number = item if given is None else given
            return _of_numbers(node.name, number)
        case "min" | "max" if of.kind == "list":
            return (item if given is None else given).or_null()
        case "first" | "last" if given is not None:
            return _narrowed(item, node.args[0], facts).or_null()
        case _:
            return None


def _of_numbers(name: str, number: Type) -> Type:
    kind = number.kind if number.kind in {"integer", "decimal"} else "number"
    if name == "avg":
        kind = "decimal" if kind == "decimal" else "number"
    found = Type("number" if kind == "integer" and name == "avg" else kind)
    found = t.concealed(found, by=[number])
    return found.or_null() if name == "avg" else found


def _narrowed(item: Type, arrow: s.Node, facts: Facts) -> Type:
    """Return a member's type after its condition was true."""
    name = arrow.names[0] if isinstance(arrow, s.Arrow) else ""
    for path, holds in facts.items():
        if path[0] == name and holds:
            item = _not_null_at(item, path[1:])
    return item


def _not_null_at(of: Type, path: Sequence[str | int]) -> Type:
    of = of.not_null() if of.kind != "null" else of
    if not path:
        return of
    head, *rest = path
    if of.fields is None or not isinstance(head, str) or head not in of.fields:
        return of
    return replace(of, fields={**of.fields, head: _not_null_at(of.fields[head].as_read(), rest)})
