"""Constants that always fail, and comparisons whose result is always the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from bbops.base.diagnostics import did_you_mean, suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.narrow import path_of, spelt
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


# ---- Warn of legal comparisons whose result is always the same

DOUBTS: Final = frozenset({
    "date-letters", "same-sides", "never-null", "unknown-role", "unrelated-condition",
})  # fmt: skip
"""The codes of the warnings here, and in `related`."""
_ROLE: Final = ("vars", "auth", "role")
_GIVEN: Final = ("params", "query", "input")


def warn_of_same(at: Checks, node: s.Compare) -> None:
    """Warn of `slug == slug`: both sides are the same value."""
    left = path_of(node.left, at.scope)
    if left is None or left != path_of(node.right, at.scope):
        return
    name = spelt(left, at.scope)
    given = (
        f"{root}.{name}" for root in _GIVEN
        if root in at.scope.roots and name in (at.scope.roots[root].fields or {})
    )  # fmt: skip
    near = next(given, "")
    hint = did_you_mean(name, near) if near else "compare it with another value"
    at.warn(node.right.start, "same-sides", f"'{name}' is compared to itself", hint)


_DATE_WORDS: Final = {
    "YYYY": "%Y", "yyyy": "%Y", "YY": "%y", "yy": "%y", "MM": "%m", "DD": "%d", "dd": "%d",
    "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "SS": "%S",
}  # fmt: skip
"""The letters of a date format here, by their spelling in other languages."""
_DATE_WORD: Final = re.compile("|".join(_DATE_WORDS)).sub


def warn_of_letters(at: Checks, node: s.Filter) -> None:
    """Warn of a date format without a letter, which prints itself."""
    form = node.args[0] if node.args else None
    text = form.value if isinstance(form, s.Literal) else None
    if node.name != "date" or form is None or not isinstance(text, str) or "%" in text:
        return
    meant = _DATE_WORD(lambda found: _DATE_WORDS[found[0]], text)
    letters = "letters begin with '%': %Y year, %m month, %d day, %H hour, %M minute, %S second"
    hint = letters if meant == text else f"write '{meant}'; {letters}"
    message = f"'{text}' has no date letter, so the result is always this text"
    at.warn(form.start, "date-letters", message, hint)


def warn_of_null(at: Checks, node: s.Compare, left: Type, right: Type) -> None:
    """Warn of a comparison of null with a value that cannot be null."""
    for side, of, other in ((node.left, left, node.right), (node.right, right, node.left)):
        is_null = isinstance(other, s.Literal) and other.value is None
        if not is_null or of.nullable or of.kind in {"any", "null"} or at.scope.known.doubtful:
            continue
        path = path_of(side, at.scope)
        if path in at.scope.known.facts:  # said twice, to be sure
            continue
        name = f"'{spelt(path, at.scope)}'" if path else "this"
        always = "false" if node.op == "==" else "true"
        message = f"{name} is never null here, so this is always {always}"
        at.warn(node.start, "never-null", message, "remove the comparison")


def warn_of_role(at: Checks, role: s.Node, value: s.Node) -> None:
    """Warn of a role that no token of the project has."""
    known, text = at.scope.roles, value.value if isinstance(value, s.Literal) else None
    if not known or not isinstance(text, str) or text in known:
        return
    if path_of(role, at.scope) == _ROLE:
        message = f"the role of a token is one of {', '.join(known)}, never '{text}'"
        at.warn(value.start, "unknown-role", message, suggest(text, known))
