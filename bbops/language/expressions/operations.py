"""Find the types of arithmetic and comparisons, and their mistakes."""

from __future__ import annotations

from bbops.base.diagnostics import suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.constants import (
    check_divisor,
    warn_of_null,
    warn_of_role,
    warn_of_same,
)
from bbops.language.expressions.conversions import (
    check_form,
    comparison_hint,
    conversion_hint,
    joining_hint,
)
from bbops.language.expressions.narrow import path_of, reads_row, spelt
from bbops.language.expressions.types import Type

_TIMES = frozenset({"datetime", "any", "null"})


def check_unary(at: Checks, node: s.Unary) -> Type:
    """Report the mistakes of `not` and `-` and return the type of the result."""
    if node.op == "not":
        at.condition(node.of)
        return t.BOOLEAN
    inner = at.infer(node.of)
    if not t.fits(inner, "number"):
        message = f"'-' needs a number, got {inner}"
        return at.wrong_type(node.start, message, "", node.of, hides=inner.hides)
    return at.without_null(node.of, inner, "'-'").not_null()


def check_binary(at: Checks, node: s.Binary) -> Type:
    """Report the mistakes of arithmetic and return the type of its result."""
    left, right = at.infer(node.left), at.infer(node.right)
    found = {left.kind, right.kind}
    are_times = node.op == "-" and "datetime" in found and found <= _TIMES
    kinds = ("number", "text", "list") if node.op == "+" else ("number",)
    if not are_times and not any(t.fits(left, k) and t.fits(right, k) for k in kinds):
        hint = joining_hint(node, left, right) if node.op == "+" else conversion_hint(left, right)
        return at.wrong_type(
            node.start, f"'{node.op}' does not fit {left} and {right}", hint,
            node.left, node.right, hides=left.hides or right.hides,
        )  # fmt: skip
    left, right = _both(at, node, left, right)
    check_divisor(at, node)
    if are_times:
        return t.concealed(t.NUMBER, by=[left, right])
    if "decimal" in found:
        return t.concealed(Type("decimal"), by=[left, right])
    if node.op == "/":
        return t.concealed(t.NUMBER, by=[left, right])
    return t.join(left, right).not_null()


def _both(at: Checks, node: s.Binary | s.Compare, left: Type, right: Type) -> tuple[Type, Type]:
    """Return the types of two sides that may not be null."""
    by = f"'{node.op}'"
    left = at.without_null(node.left, left, by)
    return left, at.without_null(node.right, right, by)


def check_compare(at: Checks, node: s.Compare) -> Type:
    """Report two sides that can never be compared; the result is a boolean."""
    left, right = at.infer(node.left), at.infer(node.right)
    is_ordered = node.op not in {"==", "!="}
    refuse_guess(at, node.left, left, node.right, right)
    if node.op in {"in", "not in"}:
        _member_of(at, node, left, right)
    elif not t.comparable(left, right, ordered=is_ordered):
        if "row" in at.scope.roots and {left.kind, right.kind} == {"date", "text"}:
            _check_forms(at, node, left, right)
            return t.BOOLEAN  # a query has no other constant for a column of dates
        message = f"{left} and {right} cannot be compared with '{node.op}'"
        converted = node.left if left.kind in {"text", "date"} else node.right
        hint = comparison_hint(node, left, right, of_column=reads_row(converted, at.scope))
        at.wrong_type(node.start, message, hint, node.left, node.right)
    elif is_ordered:
        _both(at, node, left, right)
        _check_forms(at, node, left, right)
    else:
        _check_forms(at, node, left, right)
        _match_null(at, node, left, right)
        _check_option(at, node.right, left)
        _check_option(at, node.left, right)
        warn_of_null(at, node, left, right)
        warn_of_role(at, node.left, node.right)
        warn_of_role(at, node.right, node.left)
    warn_of_same(at, node)
    return t.BOOLEAN


def _check_forms(at: Checks, node: s.Compare, left: Type, right: Type) -> None:
    check_form(at, node.right, right, left)
    check_form(at, node.left, left, right)


def refuse_guess(at: Checks, node: s.Node, of: Type, other: s.Node, by: Type) -> None:
    """Report a secret env variable that is compared with anything but a constant.

    The time and the result of the comparison tell a guessing client how close the guess is.
    """
    for value, found, beside in ((node, of, other), (other, by, node)):
        if found.holds_secret and not isinstance(beside, s.Literal):
            at.wrong(
                value.start, "secret-compared",
                "a secret env variable is compared with a value that is not a constant",
                "use 'verifyJwt', a trigger's 'signature', or a hash: 'text | hmac(env.NAME)'",
            )  # fmt: skip
            return


def _check_option(at: Checks, node: s.Node, of: Type) -> None:
    """Report a constant that is not an option of the other side."""
    value = node.value if isinstance(node, s.Literal) else None
    if isinstance(value, str) and of.options and value not in of.options:
        message = f"this is one of {', '.join(of.options)}, never '{value}'"
        at.wrong(node.start, "unknown-option", message, suggest(value, of.options))


def _match_null(at: Checks, node: s.Compare, left: Type, right: Type) -> None:
    """Warn of two nullable values in a query: nulls match rows by accident."""
    if not (left.nullable and right.nullable) or "row" not in at.scope.roots:
        return
    if any(isinstance(side, s.Literal) for side in (node.left, node.right)):
        return
    is_left, is_right = (reads_row(side, at.scope) for side in (node.left, node.right))
    if is_left == is_right:
        return
    value = node.right if is_left else node.left
    path = path_of(value, at.scope)
    name = f"'{spelt(path, at.scope)}'" if path else "this value"
    check = f"check {name} for null first"
    if path:
        check = f"check '{spelt(path, at.scope)} != null' first"
    at.wrong(
        value.start, "null-match", f"{name} may be null, and would match every row without one",
        f"{check}, or compare with 'null'",
    )  # fmt: skip


def _member_of(at: Checks, node: s.Compare, left: Type, right: Type) -> None:
    if not t.fits(right, "list"):
        hint = "write 'text | contains(part)'" if right.kind == "text" else ""
        at.wrong(node.right.start, "type", f"'in' needs a list, got {right}", hint)
    elif right.item is not None and not t.comparable(left, right.item, ordered=False):
        message = f"{left} is never in a {right}"
        at.wrong(node.start, "type", message, conversion_hint(left, right.item))
    else:
        at.without_null(node.right, right, f"'{node.op}'")
        for item in node.right.items if isinstance(node.right, s.ListOf) else ():
            _check_option(at, item, left)
            check_form(at, item, at.scope.type_of(item), left)
            warn_of_role(at, node.left, item)
