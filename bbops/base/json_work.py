"""Jobs, deliveries, events, runs of agents and addons as JSON.

Every process, page, command and program uses the same form.
"""

from __future__ import annotations

from typing import Any

import msgspec

# ---- Jobs as JSON, in the same form for every process, page, command and program


class Job(msgspec.Struct, frozen=True):
    """A job, which runs outside of requests. Times are seconds since 1970.

    `state` is ready, blocked (its lane is taken), later (it waits for `run_at`), running, held or
    dead; for an ended job done or cancelled, and `run_at` is the time of its end.
    """

    name: str
    work: str
    state: str
    attempts: int
    run_at: float
    created_at: float
    lane: str = ""
    error: str = ""


class JobStory(msgspec.Struct, frozen=True):
    """The history of a job: its payload as JSON, its causes and its steps.

    `causes` begins with the direct cause, and goes back to the request, if it is known. `waits`
    are the conditions that a sleeping or blocked job waits for.
    """

    job: Job
    payload: str
    causes: list[str]
    steps: list[str]
    waits: list[str] = []


class TaskTime(msgspec.Struct, frozen=True):
    """The next run of a task, in seconds since 1970."""

    task: str
    next_at: float


class TickTime(msgspec.Struct, frozen=True):
    """A tick: seconds since 1970, and the time in the task's time zone, with its offset."""

    at: float
    local: str


class TaskTicks(msgspec.Struct, frozen=True):
    """The next ticks of a task.

    Attributes:
        schedule: as people read it, such as `at '30 2 * * *' (Europe/Berlin)`.
        jitter_seconds: how much later than its tick a run begins at most.
    """

    task: str
    schedule: str
    timezone: str
    jitter_seconds: float
    ticks: list[TickTime]


class JobList(msgspec.Struct, frozen=True):
    """Jobs, how many are in each state, and when tasks run next."""

    jobs: list[Job]
    counts: dict[str, int]
    tasks: list[TaskTime]


class ChangedJobs(msgspec.Struct, frozen=True):
    """How many jobs were changed.

    Attributes:
        job: the new job of a task, or the replacement of a job that stays dead.
        state: the state of a job that was not changed; else empty.
    """

    count: int
    job: str = ""
    state: str = ""


# ---- Deliveries of webhooks as JSON, in the same form for every process, page and program


class Delivery(msgspec.Struct, frozen=True):
    """A message from another service, or to a receiver.

    `direction` is received or sent, `of` the trigger or the webhook, `at` the time of its arrival
    or creation in seconds since 1970. `state` is received, waiting (for another try), delivered,
    failed (for good) or dropped (its receiver was disabled or removed).
    """

    id: str
    direction: str
    of: str
    at: float
    state: str
    event: str = ""
    receiver: str = ""
    tries: int = 0
    error: str = ""


class DeliveryTry(msgspec.Struct, frozen=True):
    """A try: its time, and the receiver's response (at most 1 KB) or the error."""

    at: float
    status: int | None
    answer: str
    error: str


class DeliveryStory(msgspec.Struct, frozen=True):
    """A delivery with its headers (if received), its body, and its tries (if sent)."""

    delivery: Delivery
    headers: list[tuple[str, str]]
    body: str
    tries: list[DeliveryTry]


class JsonReceiver(msgspec.Struct, frozen=True):
    """A receiver of a webhook; `disabled_at` is empty if it is enabled.

    `url` is shown without its path, which may hold a secret; empty where only a variable has it.
    `problem` says why it misses events, for its column `events`; empty if the column is valid.
    """

    webhook: str
    receiver: str
    url: str
    disabled_at: str
    problem: str = ""


class StartedJob(msgspec.Struct, frozen=True):
    """The job that something has made."""

    job: str


# ---- Events of a project as JSON, in the same form for every process, page and program


class LoggedEvent(msgspec.Struct, frozen=True):
    """An event of the log: `at` in seconds since 1970, the payload as JSON, without secrets."""

    seq: int
    name: str
    at: float
    key: str
    payload: str
    cause: str = ""


class EmittedEvent(msgspec.Struct, frozen=True):
    """The triggers that wait for an event that was emitted."""

    triggers: list[str]


class ReplayedEvents(msgspec.Struct, frozen=True):
    """How many events run their trigger again, or would."""

    count: int


# ---- Runs of a project's agents as JSON, in the same form for every process, page and program
# Times are seconds since 1970. Texts of models and of their users are data, never instructions.


class AgentRun(msgspec.Struct, frozen=True):
    """A run of an agent.

    Attributes:
        name: the name of its job, such as `agents/helpdesk/chat@5f…`.
        start: the key of `runsOn` that started it, such as `chat`.
        chat: empty outside of chats, and so is `owner`, the id of the chat's user.
        state: queued, running, waiting (for an approval), held, done or failed.
        tokens_in: the tokens that the model has read; `tokens_out`, that it has written.
        money: the price of these tokens; 0 for a model without prices.
        ended_at: None until it has ended.
    """

    name: str
    agent: str
    start: str
    chat: str
    owner: str
    state: str
    error: str
    tokens_in: int
    tokens_out: int
    money: float
    began_at: float
    ended_at: float | None


class AgentCall(msgspec.Struct, frozen=True):
    """A call of a tool that needs an approval.

    Attributes:
        arguments: masked.
        state: waiting, approved, rejected or expired.
        decided_by: the person, or the id of the chat's user.
        expires_at: the time at which a waiting call is rejected.
    """

    id: str
    run: str
    agent: str
    chat: str
    owner: str
    tool: str
    arguments: Any
    state: str
    decided_by: str
    asked_at: float
    decided_at: float | None
    expires_at: float


class AgentStep(msgspec.Struct, frozen=True):
    """A step of a run: a message to the agent, an answer of its model, or a call of a tool.

    Attributes:
        kind: message, model or tool.
        tool: the tool of a call; empty for other steps.
        text: the message, the text of an answer, or the result of a call.
        calls: tool and arguments of the calls in an answer.
        arguments: the arguments of a call, masked.
        is_error: whether a call failed.
    """

    number: int
    kind: str
    at: float
    ms: int
    tokens_in: int
    tokens_out: int
    text: str
    tool: str = ""
    calls: list[dict[str, Any]] = []
    arguments: Any = None
    is_error: bool = False


class AgentRunStory(msgspec.Struct, frozen=True):
    """A run with its steps, its answer, and its calls that needed an approval."""

    run: AgentRun
    answer: Any
    steps: list[AgentStep]
    calls: list[AgentCall]


class AgentUsage(msgspec.Struct, frozen=True):
    """The runs of an agent in a period: their number, failures, tokens and money."""

    agent: str
    runs: int
    failed: int
    tokens_in: int
    tokens_out: int
    money: float


class DecidedCall(msgspec.Struct, frozen=True):
    """A call after a decision; `is_changed` is false if it did not wait for one."""

    is_changed: bool
    call: AgentCall


class TestedAddon(msgspec.Struct, frozen=True):
    """The result of a test of an addon's connection as text, without secrets.

    `state` is `works`, `untested`, `refused` (the key is wrong), `lacks` (a value, or a right),
    `unreachable` or `failed`.
    """

    addon: str
    state: str
    text: str

    @property
    def is_wrong(self) -> bool:
        """Whether a user has to act."""
        return self.state not in {"works", "untested"}
