"""Check the content of a YAML value: expressions, text around them, maps and lists of them."""

from __future__ import annotations

import re
from dataclasses import replace

from bbops.base.diagnostics import Hint, ReplaceValue, article
from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.constants import DOUBTS
from bbops.language.expressions.infer import Inference
from bbops.language.expressions.narrow import Outcomes, outcomes
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.syntax import SyntaxProblem, parse
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import (
    Broken,
    Constant,
    Expression,
    ListValue,
    MapValue,
    Template,
)
from bbops.language.expressions.values import Value as AnyValue
from bbops.runtime.values.filters import FUNCTIONS

_READS_LIKE_ONE = re.compile(r"\s*([a-z][A-Za-z]*)\s*(?:\?\.|[.\[(|])").match


def check_value(value: AnyValue, scope: Scope) -> Type:
    """Return the type of a value in YAML; mistakes go to the scope's report."""
    match value:
        case Constant():
            return _constant(value, scope)
        case Expression():
            scope.forget_mistakes(value.node)
            return Inference(scope, value.mark, value.node).infer(value.node)
        case Template():
            return _template(value, scope)
        case MapValue():
            return t.map_of({key: check_value(item, scope) for key, item in value.items})
        case ListValue():
            return t.list_of(t.joined([check_value(item, scope) for item in value.items]))
        case Broken():
            problem = value.problem
            scope.report(value.mark, problem.start, problem.code, problem.message, problem.hint)
            return t.NEVER


def check_condition(value: Expression, scope: Scope) -> Outcomes:
    """Check an expression that must be true or false; return the facts of both outcomes."""
    scope.forget_mistakes(value.node)
    return Inference(scope, value.mark, value.node).condition(value.node)


def refuse_null(value: AnyValue, of: Type, scope: Scope, by: str, cure: str = "") -> Type:
    """Return the type of a checked value that may not be null; report a possible null.

    Args:
        by: the place that rejects null, as the message names it.
    """
    if not t.may_be_null(of):
        return of
    node = value.node if isinstance(value, Expression) else s.Literal(0, 0, None)
    return Inference(scope, value.mark, node).without_null(node, of, by, cure)


def proved(value: AnyValue, scope: Scope) -> Outcomes:
    """Return the facts that a checked condition proves if it is true, and if it is false."""
    return outcomes(value.node, scope) if isinstance(value, Expression) else ({}, {})


def braces_hint(text: object, scope: Scope) -> str:
    """Return the hint for a text that looks like an expression without `${ }`, or nothing."""
    found = _READS_LIKE_ONE(text) if isinstance(text, str) else None
    if found is None or not (found[1] in {*scope.roots, "vars"} or found[1] in FUNCTIONS):
        return ""
    try:
        node = parse(str(text))
    except SyntaxProblem:
        return ""
    meant = f"${{ {str(text).strip()} }}"
    return Hint(f"write {meant}", ReplaceValue(meant)) if _resolves(node, scope) else ""


def _resolves(node: s.Node, scope: Scope) -> bool:
    """Return whether an expression is valid here and reads only declared names."""
    found: list[str] = []
    declared = {name: replace(of, rest=None) for name, of in scope.roots.items()}
    inner = Scope(
        declared, lambda *mistake: found.append(mistake[2]), scope.known.copy(),
        columns=scope.columns, table=scope.table, missing=scope.missing,
    )  # fmt: skip
    Inference(inner, None, node).infer(node)
    return set(found) <= {"maybe-null", "maybe-unset"} | DOUBTS


def _constant(value: Constant, scope: Scope) -> Type:
    text = value.value
    if isinstance(text, str) and "{{" in text and "}}" in text:
        inner = text[text.index("{{") + 2 : text.index("}}")].strip()
        scope.report(
            value.mark, text.index("{{"), "double-braces",
            "'{{ }}' is plain text here", f"expressions are written ${{ {inner} }}",
        )  # fmt: skip
    elif hint := braces_hint(text, scope):
        message = "this text looks like an expression, but is not inside '${ }'"
        scope.report(value.mark, 0, "forgotten-braces", message, hint)
    return t.type_of_constant(text)


def _template(value: Template, scope: Scope) -> Type:
    checker = Inference(scope, value.mark, None)
    inner = []
    for part in value.parts:
        if not isinstance(part, s.Node):
            continue
        found = checker.infer(part)
        inner.append(found)
        if found.kind in {"list", "map", "binary"}:
            cure = "base64" if found.kind == "binary" else "json"
            message = f"{article(found.kind)} cannot be part of a text"
            checker.wrong(part.start, "type", message, f"add '| {cure}'")
        else:
            checker.without_null(part, found, "a text")
    return t.concealed(t.TEXT, by=inner)
