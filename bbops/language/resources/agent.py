"""agent: a model with instructions, and functions as its tools."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import Duration, EventName
from bbops.language.resources._kind import FunctionName, Kind, RealtimeName
from bbops.language.resources._schedule import Cron
from bbops.language.resources.trigger import DatabaseTrigger, Webhook


class AgentModel(Model):
    """The addon that talks to the model, and the model's name there."""

    addon: str
    name: str


class Chat(Model):
    """People talk to the agent; with JWT, `vars.auth` in its tools is the signed-in user."""

    authentication: Literal["None", "JWT"]


class RunsOn(Model):
    """The events and requests that start the agent; any number of them."""

    chat: Chat | None = None
    schedule: Cron | None = None
    webhook: Webhook | None = None
    database: DatabaseTrigger | None = None
    event: EventName | None = None
    realtime: RealtimeName | None = None

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse an agent without a start."""
        if data == {}:
            raise PydanticCustomError("too_short", "nothing starts the agent")
        return data

    @property
    def starts(self) -> tuple[str, ...]:
        """The given keys."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)


class Limits(Model):
    """The limits at which a run of the agent ends."""

    max_steps: Annotated[int, Field(ge=1, le=100)] = 10
    timeout: Duration = "60s"


class Agent(Kind):
    """A model with instructions, and functions as its tools.

    - A tool's arguments are the `input`, `params` and `query` of its function together, so no name
      may be listed twice. Its `description` is all that the model knows of it.
    - `vars.auth` is the user of the chat; it is there where the agent runs on a chat with JWT, and
      on nothing else.
    - `runsOn` names any number of starts; at least one.
    """

    folder: ClassVar[str] = "agents"
    run_by: ClassVar[str] = "bbops.runtime.work.agents"
    rank: ClassVar[int] = 80
    nests: ClassVar[bool] = False

    description: str | None = None
    model: AgentModel
    instructions: Annotated[str, Field(min_length=1)]
    tools: list[FunctionName] = []
    runs_on: RunsOn
    limits: Limits = Field(default_factory=Limits)
