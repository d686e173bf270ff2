"""Automatic responses of the server, in the project's own wording."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bbops.base.model import Model
from bbops.language.expressions.values import Value, ValueField


class AutomaticAnswer(Model):
    """`value` may use `error.code`, `error.message`, `error.fields` and `error.status`."""

    status: Annotated[int, Field(ge=400, le=599)] | None = None
    value: ValueField | None = None


class Messages(Model):
    """Texts of the rules of shapes; `${ error.limit }` is the number of the rule."""

    required: ValueField | None = None
    type: ValueField | None = None
    min_length: ValueField | None = None
    max_length: ValueField | None = None
    minimum: ValueField | None = None
    maximum: ValueField | None = None
    pattern: ValueField | None = None
    enum: ValueField | None = None
    unique: ValueField | None = None

    @property
    def given(self) -> dict[str, Value]:
        """The given texts by their keys."""
        every = ((field.alias or name, getattr(self, name))
                 for name, field in type(self).model_fields.items())  # fmt: skip
        return {key: value for key, value in every if value is not None}


class Errors(Model):
    """`default` applies to every failure without an entry of its own, such as 405 or 413."""

    unauthorized: AutomaticAnswer | None = None
    forbidden: AutomaticAnswer | None = None
    not_found: AutomaticAnswer | None = None
    conflict: AutomaticAnswer | None = None
    invalid_input: AutomaticAnswer | None = None
    rate_limited: AutomaticAnswer | None = None
    server_error: AutomaticAnswer | None = None
    default: AutomaticAnswer | None = None
    messages: Messages = Field(default_factory=Messages)

    @property
    def answers(self) -> dict[str, AutomaticAnswer]:
        """The given entries by their keys."""
        found = {}
        for name, field in type(self).model_fields.items():
            if isinstance(answer := getattr(self, name), AutomaticAnswer):
                found[field.alias or name] = answer
        return found
