"""transaction: run steps that change the database wholly, or not at all."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from bbops.language.expressions.emit import load
from bbops.language.expressions.types import NULL, Type
from bbops.language.steps._base import Checking, Example, Step, Steps, variables
from bbops.language.steps._flow import Flow


class Transaction(Step):
    """Commit at the end of the steps, or at a `return`; an error undoes all of it and goes on.

    - Transactions run one after the other: none sees another one halfway. So read and write what
      belongs together in one, and do what takes time before it.
    - Inside stand database steps, `emit`, steps without effects, and calls of such functions.
      `emit` counts only when it commits.
    """

    title: ClassVar[str] = "Transaction"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Both or none",
            "- try:\n"
            "    - transaction:\n"
            "        - insert: { table: notes, data: { title: four } }\n"
            "        - insert: { table: notes, data: { id: 1, title: again } }\n"
            "  catch:\n"
            "    - find: { table: notes }\n"
            "      as: notes\n"
            "    - return: { value: '${ vars.notes | length }' }\n"
            "- return: { value: none }",
            value=3,
        ),
    )

    transaction: Steps

    def check(self, at: Checking) -> Type:
        with at.within("'transaction'"):
            at.steps(self.transaction)
        return NULL

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.transaction,)

    def code(self, flow: Flow) -> list[ast.stmt]:
        doors = flow.temporary()
        with flow.instead(host=load(doors)):
            body = flow.block(self.transaction)
        code = flow.run(
            f"async with within(run) as {doors}:\n    BODY",
            within="bbops.runtime.steps.blocks:Within",
            BODY=body,
        )
        return flow.settled(variables(self.transaction), code)
