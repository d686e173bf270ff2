"""The shared part of all checks of expressions: diagnostics, null and known facts.

A mistake is reported once: the expression around it gets the type `any`, which fits everything.
"""

from __future__ import annotations

from typing import Self

from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.inside import find_misspelt
from bbops.language.expressions.known import Facts
from bbops.language.expressions.narrow import outcomes, path_of, spelt
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.source.yaml.document import Mark

_TRUE_OR_FALSE = "write '== true', or add '| default(false)'"


class Checks:
    """The check of one scalar's expression; every node's type goes to the scope."""

    def __init__(self, scope: Scope, mark: Mark | None, whole: s.Node | None) -> None:
        self.scope, self.mark, self.whole = scope, mark, whole

    def infer(self, node: s.Node) -> Type:
        """Return the type of a node; mistakes go to the scope's report."""
        raise NotImplementedError

    def within(self, scope: Scope) -> Self:
        """Return the check of a part of the same scalar in another scope."""
        return type(self)(scope, self.mark, self.whole)

    def wrong(
        self, offset: int, code: str, message: str, hint: str = "", *, hides: bool = False
    ) -> Type:
        """Report a mistake and return the type of the expression around it."""
        self.scope.wrong.add(id(self.whole))
        if code != "maybe-null":
            self.scope.unclear.add(id(self.whole))
        self.scope.report(self.mark, offset, code, message, hint)
        return t.mistaken(hides=hides)

    def wrong_type(
        self, offset: int, message: str, hint: str, *parts: s.Node, hides: bool = False
    ) -> Type:
        """Report a type mistake; if one of the parts is a misspelt query, report that instead."""
        found = find_misspelt(self.scope, *parts)
        if found is None:
            return self.wrong(offset, "type", message, hint, hides=hides)
        node, near = found
        message = f"query '{node.name}' is not declared, and {message}"
        return self.wrong(node.name_start, "unknown-field", message, near, hides=hides)

    def warn(self, offset: int, code: str, message: str, hint: str = "") -> None:
        """Warn of a legal but doubtful expression, unless it has a mistake already."""
        if id(self.whole) in self.scope.wrong:
            return
        self.scope.report(self.mark, offset, code, message, hint)

    def condition(self, node: s.Node) -> tuple[Facts, Facts]:
        """Check a condition; return the facts if it is true, and if it is false."""
        found = self.infer(node)
        if t.fits(found, "boolean"):
            self.without_null(node, found, "a condition", _TRUE_OR_FALSE)
        else:
            self.wrong(
                node.start, "condition", f"a condition needs true or false, got {found}",
                "compare it, for example with '!= null'",
            )  # fmt: skip
        return outcomes(node, self.scope)

    def narrowed(self, node: s.Node, of: Type) -> Type:
        """Return the type of a value, narrowed by the conditions that hold here."""
        known = self.scope.known
        if not known.facts and not known.blamed:
            return of
        path = path_of(node, self.scope)
        return of if path is None else known.narrowed(path, of)

    def solid(self, node: s.Node, by: str, hint: str = "") -> Type:
        """Return the type of a part that may not be null, and report a possible null."""
        return self.without_null(node, self.infer(node), by, hint)

    def without_null(
        self, node: s.Node, of: Type, by: str, hint: str = "", *, at: int | None = None
    ) -> Type:
        """Report a part that may be null; `by` names the place that rejects null."""
        if not t.may_be_null(of):
            return of
        if self.scope.known.doubtful:
            return of.not_null()
        path = path_of(node, self.scope)
        name, usual = "this", "add '| default(…)'"
        if path is not None:
            self.scope.known.blamed.add(path)
            spelling = spelt(path, self.scope)
            name, usual = f"'{spelling}'", f"{usual}, or check '{spelling} != null' first"
        message, hint = f"{name} may be null, and {by} takes no null", hint or usual
        if of.kind == "null":
            message, hint = f"{name} is null, and {by} takes no null", ""
        return self.wrong(
            node.start if at is None else at, "maybe-null", message, hint, hides=of.hides
        )
