"""forget: drop what `cache` keeps under a key."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class ForgetParameters(Model):
    """The key, as a step `cache` has it."""

    key: ValueField


class Forget(Step):
    """Have the value made again when it is next asked for.

    - It is the `key` of a step `cache`; in a process that does not have it nothing happens.
    """

    title: ClassVar[str] = "Forget Cached Value"
    waits: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Behind a change",
            "- update: { table: notes, where: id == 1, data: { done: true } }\n"
            "- forget: { key: notes/count }",
        ),
    )

    forget: ForgetParameters

    def check(self, at: Checking) -> Type:
        at.need(self.forget.key, "text number boolean", "'key'", self.place("key"))
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.run(
            "forget(run, key)",
            forget="bbops.runtime.flow.caching:forget",
            key=flow.value(self.forget.key),
        )
