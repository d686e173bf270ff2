"""What endpoints and channels say alike: who may ask, how often, and how much of each request."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import Duration
from bbops.runtime.values.durations import seconds

RoleName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
History = Literal["full", "meta", "off"]
MOST_SECONDS: Final = 86_400
"""Of the time in which a limit counts: counters live in memory."""


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
        """Read a number as so many a minute."""
        return {"limit": data} if type(data) is int else data

    @model_validator(mode="after")
    def check_per(self) -> Self:
        """Refuse a time that a counter does not keep."""
        if not 1 <= self.per_seconds <= MOST_SECONDS or self.per_seconds % 1:
            raise PydanticCustomError(
                "bad_value", "'per' is a whole number of seconds from 1s to 24h, got {per}",
                {"per": self.per},
            )  # fmt: skip
        return self

    @property
    def per_seconds(self) -> float:
        """The time in which it counts."""
        return seconds(self.per)

    @property
    def a_minute(self) -> float:
        """How many there may be in a minute, to tell which of two is the higher one."""
        return self.limit * 60 / self.per_seconds

    @property
    def at_once(self) -> float:
        """How many of them may come in one minute."""
        return max(self.a_minute, self.limit)

    def __str__(self) -> str:
        """Return it as people say it: `30/min`, `5 per 1h`."""
        if not self.limit:
            return "none"
        by = ", by address" if self.by == "address" else ""
        return (
            f"{self.limit}/min{by}"
            if self.per_seconds == 60
            else f"{self.limit} per {self.per}{by}"
        )
