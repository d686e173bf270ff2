"""log: write a line to the server's log. The client never sees it."""

from __future__ import annotations

import ast
from typing import ClassVar, Literal

from bbops.base.model import Model
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class LogParameters(Model):
    """A message, and values beside it."""

    message: ValueField
    level: Literal["debug", "info", "warn", "error"] = "info"
    data: ValueField | None = None


class Log(Step):
    """Write `message` with the function's name, the step's line and the request's id.

    - Private columns and secrets may not reach it.
    """

    title: ClassVar[str] = "Log"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Leave a trace", "- log: { message: Order placed, data: { items: 3 } }"),
    )

    log: LogParameters

    def check(self, at: Checking) -> Type:
        at.public(self.log.message, "the log")
        at.public(self.log.data, "the log")
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.run(
            "run.log(level, message, data, line)",
            level=ast.Constant(self.log.level),
            message=flow.value(self.log.message),
            data=flow.value(self.log.data),
            line=self.line(flow),
        )
