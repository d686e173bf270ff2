"""if: run one of several lists of steps."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from bbops.base.model import Model
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import BareField
from bbops.language.steps._base import Checking, Example, Step, Steps
from bbops.language.steps._flow import Flow


class ElseIf(Model):
    """Another condition, tested if the conditions before it are false, and its steps."""

    if_: BareField = Field(alias="if")
    then: Steps


class If(Step):
    """Run `then` when the condition holds, otherwise the first of `elif` that does, or `else`.

    - The condition is an expression without `${ }`, and true or false: an empty text or zero is
      neither.
    - What it proves holds inside: after `vars.user != null` the fields of `vars.user` may be read.
      Where a branch ends with `return` or `throw`, its opposite holds for the steps after it.
    """

    title: ClassVar[str] = "If/Else"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Choose among several",
            "- if: input.count == 0\n"
            "  then:\n    - set: { size: none }\n"
            "  elif:\n"
            "    - if: input.count < 10\n      then:\n        - set: { size: few }\n"
            "  else:\n    - set: { size: many }\n"
            "- return: { value: '${ vars.size }' }",
            input={"count": 3},
            value="few",
        ),
        Example(
            "Refuse what is too large",
            "- if: input.count > 10\n"
            "  then:\n    - return: { status: 400, value: { error: Too many } }\n"
            "- return: { value: ok }",
            input={"count": 11},
            status=400,
            value={"error": "Too many"},
        ),
    )

    if_: BareField = Field(alias="if")
    then: Steps
    elif_: list[ElseIf] = Field(default=[], alias="elif", max_length=50)
    else_: Steps | None = Field(default=None, alias="else")

    def check(self, at: Checking) -> Type:
        before, where = at.scope.known, f"of the 'if' on line {at.line} sets it"
        ends: list[tuple[str, FlowFacts]] = []
        for number, branch in enumerate(self.ways()):
            yes, no = at.condition(branch.if_, self.place("if") if branch is self else None)
            if not at.is_clear(branch.if_):
                at.scope.known.doubtful = True
            part = f"'elif' {number}" if number else "'then'"
            ends.append((f"only {part} {where}", at.branch(branch.then, yes)))
            at.scope.known = at.scope.known.copy(no)
        ends.append((f"only 'else' {where}", at.branch(self.else_ or ())))
        at.scope.known = before
        at.rejoin(*ends)
        return NULL

    def ways(self) -> Sequence[If | ElseIf]:
        """Return each condition with its steps, the first one first."""
        return [self, *self.elif_]

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.then, *(branch.then for branch in self.elif_), self.else_ or ())

    def code(self, flow: Flow) -> list[ast.stmt]:
        other = flow.block(self.else_) if self.else_ else []
        for branch in reversed(self.ways()):
            other = [ast.If(flow.condition(branch.if_), flow.block(branch.then), other)]
        return other
