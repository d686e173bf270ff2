"""throw: end the request with an error, from any depth."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import Constant, ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class ThrowParameters(Model):
    """The error; without `value` its body is the project's usual one for that status.

    Without anything it is, inside `catch`, the same error again.
    """

    status: ValueField = Constant(500)
    message: ValueField | None = None
    value: ValueField | None = None
    headers: ValueField | None = None


class Throw(Step):
    """Stop this function and every caller of it.

    - The answer is `{"error": {"code", "message"}}` with the status, or `value` where it is given.
    - `throw: {}` inside `catch` throws the same error again.
    """

    title: ClassVar[str] = "Throw Error"
    waits: ClassVar[bool] = False
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Refuse a visitor",
            "- throw: { status: 403, message: Members only }",
            status=403,
            value={"error": {"code": "forbidden", "message": "Members only"}},
        ),
    )

    throw: ThrowParameters

    def check(self, at: Checking) -> Type:
        status, message = self.throw.status, self.throw.message
        at.public(self.throw.value, "this error")
        at.headers(self.throw.headers, "this error's headers")
        found = at.public(status, "this error")
        if not isinstance(status, Constant):
            at.fit(status, found, "integer", "'status'", self.place("status"))
        if message is not None:
            found = at.public(message, "this error")
            at.fit(message, found, "text", "'message'", self.place("message"), null=True)
        if isinstance(status, Constant) and not _is_status(status.value):
            at.report(
                self.place("status"), "status", "the status of an error is a number from 400 to 599"
            )
        at.ends()
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        error = self.throw
        if flow.caught and not error.model_fields_set:
            return flow.run(f"raise {flow.caught}")
        value = flow.use("bbops.runtime.values.failures:NOTHING")
        if "value" in error.model_fields_set:  # null is a value too
            value = flow.value(error.value)
        return flow.run(
            "raise thrown(status, message, value, headers)",
            thrown="bbops.runtime.flow.run:thrown",
            status=flow.value(error.status),
            message=flow.value(error.message),
            value=value,
            headers=flow.value(error.headers),
        )


def _is_status(value: object) -> bool:
    return type(value) is int and 400 <= value <= 599
