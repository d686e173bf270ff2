"""set: keep values under names for the steps after it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from bbops.base.names import VariableName
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class Set(Step):
    """Store each value as `vars.<name>`; the values do not see each other.

    - Setting a variable again replaces it, and forgets what was proved of it.
    """

    title: ClassVar[str] = "Set Variable"
    waits: ClassVar[bool] = False
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Keep two numbers",
            "- set: { price: 3, count: 4 }\n- return:\n    value: ${ vars.price * vars.count }",
            value=12,
        ),
    )

    set: dict[VariableName, ValueField] = Field(min_length=1)

    def check(self, at: Checking) -> Type:
        found = {name: at.value(value) for name, value in self.set.items()}
        for name, of in found.items():
            at.set(name, of, self.key_place(name))
        return NULL

    def sets(self) -> Sequence[str]:
        return (*super().sets(), *self.set)

    def code(self, flow: Flow) -> list[ast.stmt]:
        if len(self.set) == 1:
            ((name, value),) = self.set.items()
            return flow.store(name, flow.value(value))
        kept = {name: flow.temporary() for name in self.set}
        out: list[ast.stmt] = []
        for name, value in self.set.items():
            out += flow.run(f"{kept[name]} = value", value=flow.value(value))
        for name, temporary in kept.items():
            out += flow.store(name, ast.Name(temporary, ast.Load()))
        return out
