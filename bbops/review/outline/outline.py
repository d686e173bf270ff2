"""The values of an outline. References are names of resources; lines count from 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bbops.base.json_diagnostics import JsonDiagnostic

Shown = Literal["visible", "hidden"]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class EndpointOutline:
    """A route, with the settings of its channel.

    Attributes:
        id: the operation id in the contract.
        path: the full path, with `:name` for parameters.
        channel: its channel; empty without one.
        is_inherited: whether the authentication is the setting of the channel.
        roles: the roles of which a user needs one; empty for all users.
        rate_limit: such as `30/min`; empty without a limit.
        middleware: the functions that run before, in order.
        function: the name in `functions`; an inline function has a name that no file has.
        is_inline: whether its steps are in its own file.
        timeout: such as `10s`; empty for the server's limit, likewise `max_body`.
        history: `full`, `meta` or `off`.
        tests: the names of its test files.
        tables: the tables that its functions read or write.
    """

    name: str
    file: str
    line: int
    id: str
    method: str
    path: str
    channel: str
    authentication: str
    is_inherited: bool
    roles: tuple[str, ...]
    rate_limit: str
    middleware: tuple[str, ...]
    function: str
    is_inline: bool
    description: str
    docs: Shown
    timeout: str
    max_body: str
    history: str
    is_idempotent: bool
    tests: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputOutline:
    """A field of a function.

    Attributes:
        part: `input` is the body, `query` and `params` are in the URL, `payload` is an event's.
    """

    name: str
    part: Literal["input", "query", "params", "payload"]
    type: str
    is_required: bool
    description: str


@dataclass(frozen=True, slots=True)
class BlockOutline:
    """Steps inside a step.

    Attributes:
        label: such as `then`, or the name of a case or branch.
        condition: the condition of an `elif`; empty otherwise.
    """

    label: str
    condition: str
    steps: tuple[StepOutline, ...]


@dataclass(frozen=True, slots=True)
class StepOutline:
    """A step.

    Attributes:
        title: its `name`, or the title of its kind.
        effect: its parameters in one line of at most 160 characters.
        sets: the variables that it sets.
        addon: the addon that runs it; empty without one.
    """

    key: str
    title: str
    effect: str
    sets: tuple[str, ...]
    line: int
    addon: str
    blocks: tuple[BlockOutline, ...]


@dataclass(frozen=True, slots=True)
class FunctionOutline:
    """A function, or the inline steps of an endpoint.

    Attributes:
        is_inline: whether its steps are in the file of an endpoint.
        callers: the functions that call it, and `enqueued_by` those that start jobs of it.
        endpoints: the endpoints that run it, and `middleware_of` those before which it runs.
        tasks: the tasks that run it; likewise `triggers` and `agents`.
        tests: the names of its test files.
        addons: the addons of its steps.
        reads: the tables that it reads itself, and `writes` those that it writes.
    """

    name: str
    file: str
    line: int
    is_inline: bool
    description: str
    inputs: tuple[InputOutline, ...]
    steps: tuple[StepOutline, ...]
    callers: tuple[str, ...]
    enqueued_by: tuple[str, ...]
    endpoints: tuple[str, ...]
    middleware_of: tuple[str, ...]
    tasks: tuple[str, ...]
    triggers: tuple[str, ...]
    agents: tuple[str, ...]
    tests: tuple[str, ...]
    addons: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnOutline:
    """A column.

    Attributes:
        computed: its expression; empty for a stored column.
        default: its default or automatic value, as text; empty without one.
        references: such as `users.id`; empty without a foreign key.
    """

    name: str
    line: int
    type: str
    is_primary: bool
    is_nullable: bool
    is_unique: bool
    is_private: bool
    computed: str
    default: str
    references: str
    enum: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class IndexOutline:
    """An index; `where` is the condition of a partial one."""

    name: str
    line: int
    columns: tuple[str, ...]
    is_unique: bool
    where: str


@dataclass(frozen=True, slots=True)
class RuleOutline:
    """A rule of a table: `scope`, `softDelete`, a check, or the access for an operation."""

    name: str
    line: int
    condition: str


@dataclass(frozen=True, slots=True)
class TableOutline:
    """A table.

    Attributes:
        readers: the functions that read it, and `writers` those that write it.
        endpoints: the endpoints whose functions read or write it.
        topics: the topics with its rows.
        triggers: the triggers on its rows.
        referring: columns of other tables that refer to it, such as `orders.user_id`.
    """

    name: str
    file: str
    line: int
    description: str
    columns: tuple[ColumnOutline, ...]
    indexes: tuple[IndexOutline, ...]
    rules: tuple[RuleOutline, ...]
    seed_rows: int
    readers: tuple[str, ...]
    writers: tuple[str, ...]
    endpoints: tuple[str, ...]
    topics: tuple[str, ...]
    triggers: tuple[str, ...]
    referring: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CorsOutline:
    """The cross-origin settings of a channel."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...]
    expose: tuple[str, ...]
    credentials: bool
    max_age_seconds: int


@dataclass(frozen=True, slots=True)
class ChannelOutline:
    """A channel; `endpoints` are its endpoints by name."""

    name: str
    title: str
    file: str
    line: int
    base_path: str
    authentication: str
    roles: tuple[str, ...]
    rate_limit: str
    cors: CorsOutline
    middleware: tuple[str, ...]
    timeout: str
    max_body: str
    history: str
    endpoints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariableOutline:
    """A declared variable of `env`, without its value.

    Attributes:
        has_default: whether it has a default value.
        is_required: whether a missing value stops the publication.
        uses: the lines that read it.
    """

    name: str
    file: str
    line: int
    is_secret: bool
    is_generated: bool
    has_default: bool
    is_required: bool
    description: str
    uses: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class AddonStepOutline:
    """A step of an addon, and the functions that use it."""

    key: str
    title: str
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddonOutline:
    """An addon that the project has, or whose steps it uses.

    Attributes:
        file: its file; empty if the project has none.
        is_own: whether it is the project's own, not one of the catalog.
        variables: the variables that its configuration reads.
        missing: required settings that its configuration does not have.
        steps: its steps that functions use.
        agents: the agents that use its models.
        problems: diagnostics about it.
    """

    name: str
    title: str
    description: str
    file: str
    line: int
    is_enabled: bool
    is_own: bool
    variables: tuple[str, ...]
    missing: tuple[str, ...]
    steps: tuple[AddonStepOutline, ...]
    agents: tuple[str, ...]
    problems: tuple[JsonDiagnostic, ...]


@dataclass(frozen=True, slots=True)
class TaskOutline:
    """A task; `schedule` is a cron expression with its time zone, or an interval."""

    name: str
    file: str
    line: int
    description: str
    schedule: str
    function: str
    is_enabled: bool
    on_dead: str


@dataclass(frozen=True, slots=True)
class TriggerOutline:
    """A trigger.

    Attributes:
        events: events, `webhook /path`, or changes of rows such as `orders insert`.
        table: the table of a database trigger; empty otherwise.
        condition: its `where`; empty without one.
    """

    name: str
    file: str
    line: int
    description: str
    kind: Literal["database", "event", "webhook"]
    events: tuple[str, ...]
    table: str
    condition: str
    function: str
    is_enabled: bool
    on_dead: str


@dataclass(frozen=True, slots=True)
class WebhookOutline:
    """A webhook that the project sends; `table` has its receivers if they are not fixed."""

    name: str
    file: str
    line: int
    description: str
    events: tuple[str, ...]
    table: str
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicOutline:
    """A topic.

    Attributes:
        pattern: such as `orders/:id`.
        table: the table of a topic of rows; empty otherwise.
        history: such as `100 for 1h`; empty without one.
        functions: the functions that publish on it.
    """

    name: str
    file: str
    line: int
    description: str
    pattern: str
    authentication: str
    middleware: tuple[str, ...]
    events: tuple[str, ...]
    table: str
    history: str
    has_presence: bool
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApprovalOutline:
    """A tool whose calls wait for approval: those for which `condition` is true; all if empty."""

    tool: str
    condition: str


@dataclass(frozen=True, slots=True)
class AgentOutline:
    """An agent.

    Attributes:
        starts: the keys of its `runsOn`.
        approvals: the tools whose calls wait.
        memory: such as `40 messages for 30d`.
        output: the fields of its answer; empty if it answers with a text.
        limits: such as `10 steps`, `60s`, `50000 tokens` and `4 runs at a time`.
        on_dead: the function that runs when a run has failed for the last time; empty without one.
    """

    name: str
    file: str
    line: int
    description: str
    addon: str
    model: str
    tools: tuple[str, ...]
    starts: tuple[str, ...]
    approvals: tuple[ApprovalOutline, ...]
    memory: str
    output: tuple[str, ...]
    limits: tuple[str, ...]
    enabled: bool
    on_dead: str


@dataclass(frozen=True, slots=True)
class CaseOutline:
    """A case of a test file."""

    name: str
    line: int


TestKind = Literal["function", "endpoint", "trigger", "task", "agent"]


@dataclass(frozen=True, slots=True)
class TestOutline:
    """A test file: its target, and its cases."""

    name: str
    file: str
    line: int
    description: str
    kind: TestKind
    target: str
    cases: tuple[CaseOutline, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """Every resource of a commit, sorted by name.

    Attributes:
        version: the version of this format.
        engine: the database that the project names; empty for any.
        users: the table of its users, who sign in; empty without one.
        counts: the number of resources by kind.
        warnings: the warnings of the commit.
    """

    version: Literal[1]
    project: str
    description: str
    engine: Literal["", "sqlite", "postgres"]
    users: str
    counts: dict[str, int]
    endpoints: tuple[EndpointOutline, ...]
    functions: tuple[FunctionOutline, ...]
    tables: tuple[TableOutline, ...]
    channels: tuple[ChannelOutline, ...]
    variables: tuple[VariableOutline, ...]
    addons: tuple[AddonOutline, ...]
    tasks: tuple[TaskOutline, ...]
    triggers: tuple[TriggerOutline, ...]
    webhooks: tuple[WebhookOutline, ...]
    topics: tuple[TopicOutline, ...]
    agents: tuple[AgentOutline, ...]
    tests: tuple[TestOutline, ...]
    warnings: tuple[JsonDiagnostic, ...]

    @property
    def files(self) -> frozenset[str]:
        """The paths of its files."""
        groups = (
            self.endpoints, self.functions, self.tables, self.channels, self.addons, self.tasks,
            self.triggers, self.webhooks, self.topics, self.agents, self.tests,
        )  # fmt: skip
        named = {resource.file for group in groups for resource in group if resource.file}
        return frozenset({"project.yaml", *named})
