"""validate: check a value against a shape, and take it as that."""

from __future__ import annotations

import ast
from typing import Annotated, ClassVar

from pydantic import Field

from bbops.base.model import Model
from bbops.language.expressions.types import Type, concealed, map_of
from bbops.language.expressions.values import ValueField
from bbops.language.shape import Shape, shape_spec, shape_types
from bbops.language.steps._base import Checking, Example, Step, mark_of
from bbops.language.steps._flow import Flow


class ValidateParameters(Model):
    """The value, and the shape that it should have."""

    value: ValueField
    shape: Annotated[Shape, Field(min_length=1)]


class Validate(Step):
    """Give the value typed, with defaults; a wrong one ends in `invalidInput` with its fields.

    - `shape` is written as `input` is.
    - It is for values that no shape has seen: the answer of a service, a part of a webhook.
    """

    title: ClassVar[str] = "Validate"
    waits: ClassVar[bool] = False
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Take JSON from elsewhere",
            "- validate:\n"
            "    value: ${ input.text | parseJson }\n"
            "    shape:\n"
            "      id: integer\n"
            "      kind: { type: string, default: plain }\n"
            "  as: event\n"
            "- return:\n    value: ${ vars.event }",
            input={"text": '{"id": 7, "more": true}'},
            value={"id": 7, "kind": "plain"},
        ),
        Example(
            "Refuse it",
            "- validate:\n"
            "    value: { tags: [a, 1] }\n"
            "    shape: { 'tags': 'string[]', 'name': string }",
            status=400,
            value={
                "error": {
                    "code": "invalidInput",
                    "message": "a value does not have the expected form",
                    "fields": {"tags.1": ["must be text"], "name": ["is required"]},
                }
            },
        ),
    )

    validate_: ValidateParameters = Field(alias="validate")

    def check(self, at: Checking) -> Type:
        given = self.validate_
        of = at.value(given.value)
        if of.kind not in {"map", "any", "null"}:
            place = mark_of(given.value) or self.place("value")
            at.report(place, "type", f"'value' needs a map, got {of}")
        return concealed(map_of(shape_types(given.shape), "the value"), by=[of])

    def code(self, flow: Flow) -> list[ast.stmt]:
        check = flow.constant(
            "bbops.runtime.values.shapes:compile_shape", shape_spec(self.validate_.shape)
        )
        return flow.compute(
            self.as_,
            "validated(check, value)",
            validated="bbops.runtime.steps.blocks:validated",
            check=check,
            value=flow.value(self.validate_.value),
        )
