"""continue: go on with the next round."""

from __future__ import annotations

import ast
from typing import ClassVar

from pydantic import Field

from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import BareField
from bbops.language.steps._base import Checking, Example, Step, always, check_jump
from bbops.language.steps._flow import Flow


class Continue(Step):
    """Go on with the next round of the loop around it where the condition holds.

    - The condition is an expression without `${ }`; `true` holds always. In the steps behind, its
      opposite is known: after `continue: vars.user == null` the fields of `vars.user` may be read.
    - `collect` gathers nothing of this round.
    - A loop is not left out of a `transaction`, `parallel`, `cache` or `finally` inside it.
    """

    title: ClassVar[str] = "Continue"
    waits: ClassVar[bool] = False
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Leave out what is odd",
            "- loop:\n"
            "    over: input.numbers\n"
            "    each: number\n"
            "    steps:\n      - continue: vars.number % 2 == 1\n"
            "    collect: ${ vars.number }\n"
            "  as: even\n"
            "- return: { value: '${ vars.even }' }",
            input={"numbers": [1, 2, 4]},
            value=[2, 4],
        ),
    )

    continue_: BareField = Field(alias="continue")

    def check(self, at: Checking) -> Type:
        check_jump(at, "continue", self.continue_, self.place("continue"))
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        if always(self.continue_):
            return [ast.Continue()]
        return [ast.If(flow.condition(self.continue_), [ast.Continue()], [])]
