"""agent: a model with instructions, and functions as its tools."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model, Plain
from bbops.base.names import Duration, EventName
from bbops.language.expressions.nodes import Literal as Constant
from bbops.language.expressions.values import Bare, BareField, Expression
from bbops.language.resources._access import RateLimit
from bbops.language.resources._job import Cron, Debounce, Every, Priority, Retry, TimeZone, Unique
from bbops.language.resources._kind import FunctionName, KebabName, Kind, Names, RealtimeName
from bbops.language.resources.realtime import MessageName
from bbops.language.resources.trigger import DatabaseTrigger, Webhook
from bbops.language.shape import Shape
from bbops.runtime.values.units import seconds

MODEL_ADDONS: Final = ("aiModel", "chatModel")
"""The addons whose models agents can use."""
LONGEST_SECONDS: Final = 900


class Prices(Model):
    """The prices of a million tokens that the model reads and writes, in one currency."""

    input: Annotated[float, Field(ge=0, le=1_000_000, strict=False)]
    output: Annotated[float, Field(ge=0, le=1_000_000, strict=False)]


class AgentModel(Model):
    """The addon that talks to the model, and the model's name there.

    - `maxTokens` is the longest answer. `options` are other parameters of the vendor, by its names,
      which come before ours; not the model, the messages, or a stream.
    - `prices` are needed for a limit of `money`.
    """

    addon: str
    name: Annotated[str, Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 2048
    options: dict[str, Plain] = {}
    prices: Prices | None = None


class AgentTool(Model):
    """A function that the model can call; the short form is its name.

    - `approval: true` holds each call until the chat's user or a member of the project approves it,
      for 7 days. An expression over `args`, such as `args.amount > 50`, holds the calls for which
      it is true. `false` lets all calls run at once.
    """

    function: FunctionName
    approval: BareField | None = None

    @property
    def waits(self) -> bool:
        """Whether calls may wait for approval."""
        return self.approval is not None and not _is(self.approval, value=False)

    @property
    def condition(self) -> str:
        """The condition under which a call waits; empty if all calls wait, or none."""
        is_constant = _is(self.approval, value=True) or _is(self.approval, value=False)
        return getattr(self.approval, "text", "") if not is_constant else ""


def _is(bare: Bare | None, *, value: bool) -> bool:
    """Return whether an expression is this constant."""
    node = bare.node if isinstance(bare, Expression) else None
    return isinstance(node, Constant) and node.value is value


def _form(given: object) -> str:
    return _MAP if isinstance(given, dict) else _NAME


_MAP, _NAME = "<map>", "<name>"
ToolField = Annotated[
    Annotated[FunctionName, Tag(_NAME)] | Annotated[AgentTool, Tag(_MAP)], Discriminator(_form)
]


class Chat(Model):
    """People talk to the agent; with JWT, `vars.auth` in its tools is the signed-in user.

    `rateLimit` counts the requests of a user, or without JWT of an address: 20 a minute by default.
    """

    authentication: Literal["None", "JWT"]
    rate_limit: RateLimit = Field(default_factory=lambda: RateLimit(limit=20))


class ScheduleStart(Model):
    """The times at which the agent runs, as of a task; the short form is a cron line."""

    short_form: ClassVar[str] = "a cron line such as 0 8 * * 1"

    schedule: Cron | None = None
    every: Every | None = None
    timezone: TimeZone = "UTC"
    overlap: Literal["skip", "queue", "allow"] = "skip"
    missed: Literal["once", "skip", "all"] = "once"
    jitter: Duration | None = None

    @model_validator(mode="before")
    @classmethod
    def read_cron(cls, data: Any) -> Any:
        """Read a text as a cron line; refuse two schedules, and none."""
        return _only({"schedule": data} if isinstance(data, str) else data, "schedule", "every")


class EventStart(Model):
    """The events that start the agent, as of a trigger; the short form is a name, or a list."""

    short_form: ClassVar[str] = "the name of an event such as order.paid"

    event: Annotated[list[EventName], Field(min_length=1, max_length=100)]
    where: BareField | None = None
    unique: Unique | None = None
    debounce: Debounce | None = None

    @model_validator(mode="before")
    @classmethod
    def read_name(cls, data: Any) -> Any:
        """Read a text or a list as the events."""
        data = {"event": data} if isinstance(data, str | list) else data
        return _only(data, "unique", "debounce", is_needed=False)

    @field_validator("event", mode="before")
    @classmethod
    def read_one(cls, data: Any) -> Any:
        """Read a single event as a list of one."""
        return [data] if isinstance(data, str) else data


class RealtimeStart(Model):
    """The messages of a topic that start the agent; the short form is the topic's file.

    `event` is one name; without it, each message starts the agent. `where` reads `event`.
    """

    short_form: ClassVar[str] = "the name of a file of realtime/"

    topic: RealtimeName
    event: MessageName | None = None
    where: BareField | None = None

    @model_validator(mode="before")
    @classmethod
    def read_topic(cls, data: Any) -> Any:
        """Read a text as the topic."""
        return {"topic": data} if isinstance(data, str) else data


class RunsOn(Model):
    """The events and requests that start the agent; any number of them."""

    chat: Chat | None = None
    schedule: ScheduleStart | None = None
    webhook: Webhook | None = None
    database: DatabaseTrigger | None = None
    event: EventStart | None = None
    realtime: Annotated[RealtimeStart | None, Names("realtime")] = None

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

    @property
    def open_starts(self) -> tuple[str, ...]:
        """The given keys with which strangers start it: all but a schedule and a chat with JWT."""
        is_private = self.chat is not None and self.chat.authentication == "JWT"
        closed = {"schedule", "chat"} if is_private else {"schedule"}
        return tuple(name for name in self.starts if name not in closed)


class Memory(Model):
    """How many messages of a chat the model sees again, and how long a chat is kept."""

    messages: Annotated[int, Field(ge=0, le=1000)] = 40
    for_: Duration = Field(default="30d", alias="for")


class AgentLimits(Model):
    """The limits at which a run of the agent ends with `agentLimit`.

    - `maxSteps` counts answers of the model, `timeout` the time of an attempt without its waits.
    - `tokens` counts what the model has read and written in the run, `money` what it has cost.
    - `concurrency` is the number of runs of the agent at a time.
    """

    max_steps: Annotated[int, Field(ge=1, le=100)] = 10
    timeout: Duration = "60s"
    tokens: Annotated[int, Field(ge=1)] | None = None
    money: Annotated[float, Field(gt=0, le=1_000_000, strict=False)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=50)] = 4

    @field_validator("timeout")
    @classmethod
    def check_timeout(cls, given: str) -> str:
        """Refuse more than a run may take."""
        if seconds(given) > LONGEST_SECONDS:
            raise PydanticCustomError("bad_value", "an attempt takes 15m at most")
        return given


class Agent(Kind):
    """A model with instructions, and functions as its tools.

    - A run is a job: its steps are the answers of the model and the calls of tools, and what has
      been done once is not done again when a server ends in the middle.
    - A tool's arguments are the `input`, `params` and `query` of its function together, so no name
      may be listed twice. Its `description` is all that the model knows of it.
    - `vars.auth` is the user of the chat; it is there where the agent runs on a chat with JWT, and
      on nothing else.
    - `runsOn` names any number of starts; at least one. `chat` is `POST /~agents/<name>` with
      `{chat?, message}`. The event reaches the model as the first message of the run, never in
      `instructions`.
    - An agent that runs on a webhook, an event, rows, a topic, or a chat without JWT says
      `approval`, true or false, of each tool that changes data or reaches other services.
    - `memory` belongs to one chat and its user; other runs have none.
    - `output` is a shape: the agent then answers with a value that fits it, instead of a text.
    - `retry`, `priority`, `onDead` and `renamedFrom` work as for a trigger.
    """

    folder: ClassVar[str] = "agents"
    run_by: ClassVar[str] = "bbops.runtime.agents.loop"
    rank: ClassVar[int] = 80
    nests: ClassVar[bool] = False

    description: str | None = None
    model: AgentModel
    instructions: Annotated[str, Field(min_length=1)]
    tools: list[ToolField] = []
    memory: Memory = Field(default_factory=Memory)
    output: Shape | None = None
    runs_on: RunsOn
    limits: AgentLimits = Field(default_factory=AgentLimits)
    retry: Retry | None = None
    priority: Priority = "normal"
    on_dead: FunctionName | None = None
    renamed_from: KebabName | None = None
    enabled: bool = True

    @model_validator(mode="after")
    def check_money(self) -> Self:
        """Refuse a limit of money without prices."""
        if self.limits.money is not None and self.model.prices is None:
            message = "'money' needs the prices of the model"
            hint = "add 'prices: { input: …, output: … }' to 'model', for a million tokens"
            raise PydanticCustomError("one_of", message, {"key": "limits", "hint": hint})
        return self

    @model_validator(mode="after")
    def check_memory(self) -> Self:
        """Refuse a memory without a chat, which is all that it can remember."""
        if "memory" in self.model_fields_set and self.runs_on.chat is None:
            message, hint = "'memory' needs a chat", "add 'chat' to 'runsOn', or remove 'memory'"
            raise PydanticCustomError("one_of", message, {"key": "memory", "hint": hint})
        return self

    @property
    def every_tool(self) -> tuple[AgentTool, ...]:
        """The tools, those in the short form as well."""
        return tuple(
            tool if isinstance(tool, AgentTool) else AgentTool(function=tool) for tool in self.tools
        )

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The functions that are its tools, in their order."""
        return tuple(str(tool.function) for tool in self.every_tool)


def _only(data: Any, *keys: str, is_needed: bool = True) -> Any:
    """Return the data of a map with one of the keys, or with none where none is needed."""
    if not isinstance(data, dict):
        return data
    given = [key for key in data if key in keys]
    first, second = keys
    if len(given) > 1:
        context = {"first": given[0], "key": given[1]}
        raise PydanticCustomError("one_of", "'{key}' cannot be combined with '{first}'", context)
    if is_needed and not given:
        raise PydanticCustomError("one_of", f"'{first}' or '{second}' is missing", {"key": ""})
    return data
