"""Report constants that a filter, function or operator always rejects, so no request meets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from bbops.language.expressions import nodes as s
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.types import Type
from bbops.runtime.values.failures import BadValue, FlowError, WrongKind
from bbops.runtime.values.filters import FILTERS
from bbops.runtime.values.regex import compile_pattern

_MOMENT: Final = datetime(2000, 1, 1, tzinfo=UTC)


def _add(of: Type, *given: Any) -> None:
    moment: datetime | date = date(2000, 1, 1) if of.kind == "date" else _MOMENT
    FILTERS["add"].apply(moment, *given)


def _difference(_of: Type, *given: Any) -> None:
    FILTERS["difference"].apply(_MOMENT, _MOMENT, *given)


def _applied(name: str, value: Any) -> Callable[..., None]:
    def try_constants(_of: Type, *constants: Any) -> None:
        FILTERS[name].apply(value, *constants)

    return try_constants


def _replace(_of: Type, pattern: Any, to: Any = "") -> None:
    try:
        compile_pattern(str(pattern))
    except FlowError:
        return  # reported as a pattern
    FILTERS["replaceAll"].apply("", pattern, to)


_TRIED: Final[Mapping[str, Callable[..., None]]] = {
    "add": _add,
    "date": _applied("date", _MOMENT),
    "difference": _difference,
    "startOf": _applied("startOf", _MOMENT),
    "round": _applied("round", 1.5),
    "divide": _applied("divide", 1),
    "split": _applied("split", "a"),
    "sort": _applied("sort", []),
    "chunk": _applied("chunk", []),
    "format": _applied("format", 1.5),
    "replaceAll": _replace,
}


def check_constants(at: Checks, node: s.Filter, of: Type) -> None:
    """Report constant arguments that the filter rejects for every value.

    Only the leading constants are tried; a computed argument ends the check.
    """
    skipped = 1 if node.name == "difference" else 0
    try_constants, constants = _TRIED.get(node.name), _first_constants(node.args[skipped:])
    least = FILTERS[node.name].least - skipped
    if try_constants is None or not constants or len(constants) < least:
        return
    try:
        try_constants(of, *constants)
    except WrongKind:
        return  # which is reported as such
    except BadValue as problem:
        at.wrong(node.args[skipped].start, "bad-constant", problem.message)
    except FlowError:
        return


def check_divisor(at: Checks, node: s.Binary) -> None:
    """Report a constant divisor of zero."""
    value = node.right.value if isinstance(node.right, s.Literal) else None
    if node.op in {"/", "%"} and type(value) in {int, float} and value == 0:
        at.wrong(node.right.start, "bad-constant", "division by zero")


def _first_constants(args: Sequence[s.Node]) -> list[Any]:
    out: list[Any] = []
    for arg in args:
        match arg:
            case s.Literal(value=value):
                out.append(value)
            case s.Unary(op="-", of=s.Literal(value=int() | float() as value)):
                out.append(-value)
            case _:
                break
    return out
