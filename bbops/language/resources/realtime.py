"""realtime: a topic that clients subscribe to, and the events that are published on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import StringConstraints

from bbops.language.expressions.nodes import Literal as Constant
from bbops.language.expressions.values import BareField, Expression
from bbops.language.resources._kind import FunctionName, Kind
from bbops.language.shape import Shape

_SEGMENT = r"(?::[a-z][A-Za-z0-9_]*|[A-Za-z0-9_.~-]+)"
Topic = Annotated[str, StringConstraints(pattern=rf"^{_SEGMENT}(?:/{_SEGMENT})*$", max_length=500)]
MessageName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9_.-]{0,126}$")]


class Realtime(Kind):
    """A topic that clients subscribe to, and the events that are published on it.

    - `:name` segments of the topic are `params`.
    - `subscribe` and `publish` say which clients may: true, false, or an expression over `params`
      and `vars` (what middleware left, and `vars.auth` with JWT). Functions may always publish.
    - Middleware that throws refuses the subscription.
    - The step `publish` sends an event; its payload must fit the shape that stands here.
    """

    folder: ClassVar[str] = "realtime"
    run_by: ClassVar[str] = "bbops.runtime.realtime"
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

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the topic's `:name` segments."""
        return tuple(part[1:] for part in self.topic.split("/") if part.startswith(":"))

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return what a list says of a resource beside its description."""
        return f"topic {body.get('topic', '')}"
