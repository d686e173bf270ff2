"""Settings of requests: roles, limits, and the wording of automatic responses."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import Duration
from bbops.language.expressions.values import Value, ValueField
from bbops.runtime.values.units import seconds

RoleName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
History = Literal["full", "meta", "off"]
MOST_SECONDS: Final = 86_400
"""The longest window of a rate limit, since counters live in memory."""


class RateLimit(Model):
    """How many requests one client may make in a time; the short form is a number a minute.

    - `per` is from one second to 24 hours.
    - Without `by`, and with `by: user`, it counts each user of a valid token, or each valid API
      key, and the address of everybody else; `by: address` counts addresses alone, so that many
      accounts behind one of them share it.
    """

    short_form: ClassVar[str] = "a number a minute"

    limit: Annotated[int, Field(ge=0)]
    per: Duration = "1m"
    by: Literal["user", "address"] | None = None

    @model_validator(mode="before")
    @classmethod
    def read_short_limit(cls, data: Any) -> Any:
        """Read a number as requests per minute."""
        return {"limit": data} if type(data) is int else data

    @model_validator(mode="after")
    def check_per(self) -> Self:
        """Refuse a window that a counter cannot keep."""
        if not 1 <= self.per_seconds <= MOST_SECONDS or self.per_seconds % 1:
            raise PydanticCustomError(
                "bad_value", "'per' is a whole number of seconds from 1s to 24h, got {per}",
                {"per": self.per},
            )  # fmt: skip
        return self

    @property
    def per_seconds(self) -> float:
        """The window of the limit."""
        return seconds(self.per)

    @property
    def a_minute(self) -> float:
        """The number of requests per minute, for comparing two limits."""
        return self.limit * 60 / self.per_seconds

    @property
    def at_once(self) -> float:
        """The number of requests that may arrive within one minute."""
        return max(self.a_minute, self.limit)

    def __str__(self) -> str:
        """Return the limit as text: `30/min`, `5 per 1h`."""
        if not self.limit:
            return "none"
        by = ", by address" if self.by == "address" else ""
        return (
            f"{self.limit}/min{by}"
            if self.per_seconds == 60
            else f"{self.limit} per {self.per}{by}"
        )


# ---- Automatic responses of the server, in the project's own wording


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
