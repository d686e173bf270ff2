"""if: run one of two lists of steps."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import BareField
from bbops.language.steps._base import Checking, Example, Step, Steps
from bbops.language.steps._flow import Flow


class If(Step):
    """Run `then` when the condition holds, otherwise `else`.

    - The condition is an expression without `${ }`, and true or false: an empty text or zero means
      nothing by itself.
    - What it proves holds inside: after `vars.user != null` the fields of `vars.user` may be read.
      Where a branch ends with `return` or `throw`, its opposite holds for the steps after it.
    """

    title: ClassVar[str] = "If/Else"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
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
    else_: Steps | None = Field(default=None, alias="else")

    def check(self, at: Checking) -> Type:
        yes, no = at.condition(self.if_, self.place("if"))
        if not at.is_clear(self.if_):
            at.scope.known.doubtful = True
        then, other = at.branch(self.then, yes), at.branch(self.else_ or (), no)
        where = f"of the 'if' on line {at.line} sets it"
        at.rejoin((f"only 'then' {where}", then), (f"only 'else' {where}", other))
        return NULL

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.then, self.else_ or ())

    def code(self, flow: Flow) -> list[ast.stmt]:
        other = flow.block(self.else_) if self.else_ else []
        test = flow.condition(self.if_)
        return [ast.If(test, flow.block(self.then), other)]
