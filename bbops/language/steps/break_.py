"""break: leave the loop."""

from __future__ import annotations

import ast
from typing import ClassVar

from pydantic import Field

from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import BareField
from bbops.language.steps._base import Checking, Example, Step, always, check_jump
from bbops.language.steps._flow import Flow


class Break(Step):
    """End the loop around it where the condition holds.

    - The condition is an expression without `${ }`; `true` holds always. In the steps behind, its
      opposite is known: after `break: vars.user == null` the fields of `vars.user` may be read.
    - The values that `collect` has gathered so far stay; this round adds none.
    - A loop is not left out of a `transaction`, `parallel`, `cache` or `finally` inside it.
    """

    title: ClassVar[str] = "Break"
    waits: ClassVar[bool] = False
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Stop at the first that is too large",
            "- loop:\n"
            "    over: input.numbers\n"
            "    each: number\n"
            "    steps:\n      - break: vars.number > 10\n"
            "    collect: ${ vars.number }\n"
            "  as: small\n"
            "- return: { value: '${ vars.small }' }",
            input={"numbers": [1, 20, 3]},
            value=[1],
        ),
    )

    break_: BareField = Field(alias="break")

    def check(self, at: Checking) -> Type:
        check_jump(at, "break", self.break_, self.place("break"))
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        if always(self.break_):
            return [ast.Break()]
        return [ast.If(flow.condition(self.break_), [ast.Break()], [])]
