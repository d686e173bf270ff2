"""realtime: a topic that clients subscribe to, and the events that are published on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import ColumnName, Duration
from bbops.language.expressions.nodes import Literal as Constant
from bbops.language.expressions.values import BareField, Expression
from bbops.language.resources._kind import FunctionName, Kind, TableName
from bbops.language.shape import FieldName, Shape
from bbops.runtime.values.units import seconds

LONGEST_HISTORY_SECONDS = 86_400
_SEGMENT = r"(?::[a-z][A-Za-z0-9_]*|[A-Za-z0-9_.~-]+)"
Topic = Annotated[str, StringConstraints(pattern=rf"^{_SEGMENT}(?:/{_SEGMENT})*$", max_length=500)]
MessageName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9_.-]{0,126}$")]


class History(Model):
    """How many messages are kept for clients that come back, and for how long; a day at most."""

    size: Annotated[int, Field(ge=1, le=10_000)]
    for_: Annotated[Duration, Field(alias="for")]

    @field_validator("for_")
    @classmethod
    def check_length(cls, given: str) -> str:
        """Refuse more than a day: longer histories belong in tables."""
        if seconds(given) > LONGEST_HISTORY_SECONDS:
            message, hint = "messages are kept for a day at most", "keep them in a table"
            raise PydanticCustomError("bad_value", message, {"hint": hint})
        return given


class Rows(Model):
    """The changes of a table's rows: only of the rows that a subscriber may see."""

    table: TableName
    where: BareField | None = None
    select: Annotated[list[ColumnName], Field(min_length=1)]


class Presence(Model):
    """The subscribers who are present: their visible data, from `params` and `vars`."""

    show: dict[FieldName, BareField] = {}


class Realtime(Kind):
    """A topic that clients subscribe to, and the events that are published on it.

    - Clients connect to `/~realtime`, with any client of the Centrifuge protocol, or read
      `/~realtime/<topic>` as server-sent events.
    - `:name` segments of the topic are `params`: texts, which stand percent-encoded in its name.
    - `subscribe` and `publish` say which clients may: true, false, or an expression over `params`
      and `vars` (what middleware left, and `vars.auth` with JWT). Functions may always publish.
    - Middleware that throws refuses the subscription. It runs again every `recheck`, by default a
      minute, when the client has a new token, and when a release goes live; who may not subscribe
      any more is unsubscribed.
    - The step `publish` sends an event; its payload must fit the shape that stands here. Clients
      send `{event, payload}`, and get that.
    - With `history`, clients that come back get the messages they missed, or an error.
    - With `rows`, messages are the changes of rows, whatever changes them: `row.inserted` and
      `row.updated` with the columns of `select`, `row.left` and `row.deleted` with the key alone.
      Each subscriber gets the changes of the rows that `where` lets it see, over the columns of the
      row, `params` and `vars`; a row that comes into its sight is `row.inserted`, one leaving it is
      `row.left`. Clients and functions cannot publish there. With `history`, clients that come back
      get the messages they missed, also after a restart.
    - With `presence`, subscribers see who else is there, up to 1,000 of them.
    """

    folder: ClassVar[str] = "realtime"
    run_by: ClassVar[str] = "bbops.runtime.realtime.topics"
    rank: ClassVar[int] = 70
    nests: ClassVar[bool] = False
    noun: ClassVar[str] = "topic"
    skeleton: ClassVar[str] = (
        "description: {sentence}\ntopic: {name}\nauthentication: {authentication}\n"
        "events:\n  changed:\n    id: string\n"
    )

    description: str | None = None
    topic: Topic
    authentication: Literal["None", "JWT"]
    middleware: list[FunctionName] = []
    subscribe: BareField = Expression(Constant(0, 0, True))  # noqa: FBT003 - a YAML `true`
    publish: BareField = Expression(Constant(0, 0, False))  # noqa: FBT003
    events: dict[MessageName, Shape] = {}
    rows: Rows | None = None
    history: History | None = None
    presence: Presence | None = None
    recheck: Duration | None = None

    @model_validator(mode="after")
    def check_rows(self) -> Self:
        """Refuse messages beside changes of rows, which have positions of their own."""
        if self.rows is not None:
            for key in ("events", "publish"):
                if key in self.model_fields_set:
                    message, hint = f"'{key}' cannot be combined with 'rows'", "use two topics"
                    raise PydanticCustomError("one_of", message, {"key": key, "hint": hint})
        return self

    @field_validator("recheck")
    @classmethod
    def check_recheck(cls, given: str | None) -> str | None:
        """Refuse an interval below a second."""
        if given is not None and seconds(given) < 1:
            raise PydanticCustomError("bad_value", "'recheck' is a second at least", {"hint": ""})
        return given

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the topic's `:name` segments."""
        return tuple(part[1:] for part in self.topic.split("/") if part.startswith(":"))

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return f"topic {body.get('topic', '')}"
