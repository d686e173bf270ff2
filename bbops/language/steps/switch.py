"""switch: run the steps of the case that equals a value."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from bbops.base.diagnostics import suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.narrow import outcomes
from bbops.language.expressions.types import INTEGER, NULL, TEXT, Type
from bbops.language.expressions.values import BareField, Expression
from bbops.language.steps._base import Checking, Example, Step, Steps
from bbops.language.steps._flow import Flow
from bbops.runtime.values.formats import EXAMPLES, PARSERS

Case = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Switch(Step):
    """Run the steps of the case that equals the value, otherwise `else`.

    - The value is a text or a whole number, and an expression without `${ }`; null is not a case.
    - Of a value that is one of a few, such as a column with `enum`, each needs a case, or there is
      an `else`: a new one is then no surprise.
    """

    title: ClassVar[str] = "Switch"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Choose by a text",
            "- switch: input.size\n"
            "  cases:\n"
            "    small:\n      - set: { price: 2 }\n"
            "    large:\n      - set: { price: 3 }\n"
            "  else:\n    - return: { status: 400, value: { error: Unknown size } }\n"
            "- return: { value: '${ vars.price }' }",
            input={"size": "large"},
            value=3,
        ),
    )

    switch: BareField
    cases: Annotated[dict[Case, Steps], Field(min_length=1, max_length=200)]
    else_: Steps | None = Field(default=None, alias="else")

    def check(self, at: Checking) -> Type:
        place = self.place("switch")
        of = at.fit(
            self.switch, at.value(self.switch), "text integer", "a switch", place, null=True
        )
        before, where = at.scope.known, f"of the 'switch' on line {at.line} sets it"
        ends: list[tuple[str, FlowFacts]] = []
        for case, steps in self.cases.items():
            self.check_case(at, case, of)
            at.scope.known = before
            found = at.branch(steps, self.proved(at, case))
            ends.append((f"only case '{case}' {where}", found))
        at.scope.known = before
        if self.is_complete(at, of):
            if self.else_ is not None:
                at.report(self.else_[0].mark, "unreachable",
                          "this 'else' never runs", "there is a case for each value")  # fmt: skip
        else:
            ends.append((f"only 'else' {where}", at.branch(self.else_ or ())))
        at.rejoin(*ends)
        return NULL

    def check_case(self, at: Checking, case: str, of: Type) -> None:
        place = self.key_place(case)
        if of.options and case not in of.options:
            message = f"this is one of {', '.join(of.options)}, never '{case}'"
            at.report(place, "unknown-option", message, suggest(case, of.options))
        if of.form and PARSERS[of.form](case) is None:
            at.report(place, "bad-constant", f"expected {EXAMPLES[of.form]}, found '{case}'")
        if of.kind in {"integer", "number"} and not _is_whole(case):
            at.report(place, "type", f"the value is a whole number, never '{case}'")

    def is_complete(self, at: Checking, of: Type) -> bool:
        """Return whether each possible value has a case; report the values without one."""
        missing = [option for option in of.options if option not in self.cases]
        if missing and self.else_ is None:
            named = ", ".join(f"'{option}'" for option in missing)
            message = f"there is no case for {named}"
            at.report(self.place("switch"), "missing-case", message, "add it, or add 'else'")
        return bool(of.options) and not missing and not of.nullable

    def proved(self, at: Checking, case: str) -> dict[tuple[str | int, ...], bool]:
        """Return the facts in a case: the value is not null."""
        if not isinstance(self.switch, Expression):
            return {}
        is_whole = at.scope.type_of(self.switch.node).kind == "integer"
        other = s.Literal(0, 0, int(case) if is_whole and _is_whole(case) else case)
        at.scope.types[id(other)] = INTEGER if is_whole else TEXT
        return dict(outcomes(s.Compare(0, 0, "==", self.switch.node, other), at.scope)[0])

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (*self.cases.values(), self.else_ or ())

    def code(self, flow: Flow) -> list[ast.stmt]:
        value = flow.temporary()
        is_whole = isinstance(self.switch, Expression) and (
            flow.type_of(self.switch).kind in {"integer", "number"}
        )
        out = flow.run(f"{value} = given", given=flow.bare(self.switch))
        other = flow.block(self.else_) if self.else_ else []
        for case, steps in reversed(self.cases.items()):
            wanted = int(case) if is_whole else self.case_form(flow, case)
            test = flow.expression(f"{value} == wanted", wanted=ast.Constant(wanted))
            other = [ast.If(test, flow.block(steps), other)]
        return out + other

    def case_form(self, flow: Flow, case: str) -> str:
        """Return a case in the form for comparisons with the value."""
        form = flow.type_of(self.switch).form if isinstance(self.switch, Expression) else ""
        return (PARSERS[form](case) if form else None) or str(case)


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19
