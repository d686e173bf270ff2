"""test: cases of one function, endpoint, trigger, task or agent, with rows and expectations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model, need_one_of
from bbops.base.names import ColumnName, Duration, EventName
from bbops.language.expressions.values import BareField, ValueField
from bbops.language.resources._kind import (
    AgentName,
    EndpointName,
    FunctionName,
    Kind,
    RealtimeName,
    TaskName,
    TriggerName,
    WebhookName,
)

Row = dict[ColumnName, ValueField]


class Event(Model):
    """The `event` that a trigger passes to its function."""

    name: str | None = None
    payload: ValueField | None = None


class LaterEvent(Model):
    """An event that is emitted while the jobs of a case wait, such as the event of a `wait`.

    `after` counts from the begin of the case. Without it, the event comes as soon as no job can run
    before the clock moves on.
    """

    event: EventName
    payload: ValueField | None = None
    after: Duration | None = None


class Rows(Model):
    """The `trigger` that a trigger of the database passes to its function."""

    new_row: ValueField | None = None
    old_row: ValueField | None = None


class User(Model):
    """The user of the request; a case without `auth` sends no token."""

    user_id: ValueField
    email: ValueField | None = None
    role: ValueField | None = None
    claims: ValueField | None = None


class CallerKey(Model):
    """The API key of a case; it opens every channel, and a case without one sends no key."""

    id: ValueField | None = None
    name: ValueField | None = None
    claims: ValueField | None = None


class SentFile(Model):
    """A file that a case sends: its name, and its content."""

    name: Annotated[str, Field(min_length=1)]
    text: str | None = None
    base64: str | None = None

    @model_validator(mode="before")
    @classmethod
    def check_content(cls, data: Any) -> Any:
        """Refuse a file without content, or with two contents."""
        return need_one_of(cls, data, "text", "base64")


class ExpectedJob(Model):
    """A job that a step `enqueue` has made; a part of its `input` will do."""

    function: FunctionName
    input: ValueField | None = None


class ExpectedMessage(Model):
    """A message that a step `send` has sent; a part of its `payload` will do."""

    webhook: WebhookName
    event: EventName
    owner: ValueField | None = None
    payload: ValueField | None = None


class ExpectedPublication(Model):
    """A message that a step `publish` has sent; parts of `params` and `payload` will do."""

    realtime: RealtimeName
    event: str
    params: ValueField | None = None
    payload: ValueField | None = None


class Expect(Model):
    """The expected result of a case; only the given keys are compared."""

    status: Annotated[int, Field(ge=200, le=599)] | None = None
    value: ValueField | None = None
    check: list[BareField] = []
    rows: dict[ColumnName, Annotated[int, Field(ge=0)]] = {}
    events: list[str] | None = None
    jobs: list[ExpectedJob] | None = None
    sent: list[ExpectedMessage] | None = None
    published: list[ExpectedPublication] | None = None
    dead: list[str] | None = None
    calls: dict[str, list[ValueField]] = {}

    @field_validator("check", mode="before")
    @classmethod
    def read_one(cls, data: Any) -> Any:
        """Read a single expression as a list of one."""
        return data if isinstance(data, list) else [data]


def read_moment(text: str) -> str:
    """Return a time with its offset from UTC, or refuse a time without one."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        message = "expected a time such as 2026-03-29T02:30:00Z"
        raise PydanticCustomError("bad_value", message)
    return text


Moment = Annotated[str, AfterValidator(read_moment)]


class Case(Model):
    """One run, on a database of its own."""

    name: Annotated[str, Field(min_length=1)]
    auth: User | None = None
    api_key: CallerKey | None = None
    params: dict[str, ValueField] = {}
    query: dict[str, ValueField] = {}
    headers: dict[str, ValueField] = {}
    input: ValueField | None = None
    files: dict[str, SentFile] = {}
    event: Event | None = None
    events: list[LaterEvent] = []
    trigger: Rows | None = None
    mocks: dict[str, ValueField] = {}
    at: Moment | None = None
    work: Literal["hold", "run"] = "hold"
    crash: Literal["each"] | None = None
    model: list[ValueField] | None = None
    approve: bool | None = None
    expect: Expect


class Test(Kind):
    """Cases of one function, endpoint, trigger, task or agent: what is there, what must come of it.

    - `bbops test` runs them, and so does `pytest` in the project's folder. Each case has a fresh
      database with the seed rows and `data`; the clock stands at 2026-01-02T03:04:05Z, generated
      ids count from 1,000,001, and env values without a default are made up.
    - `mocks` stand for steps of addons and for `http`, and only for these. A request takes the mock
      of its address, with or without the query, else that of `http`; a result with `status` is a
      whole answer `{status, headers, body}`, any other one a body, and `{ error: { status,
      message } }` a failure. It is the answer where the step itself answers with that status, as
      `identityToken.verifyIdToken` does with 401. A call that no mock answers fails the case, even
      where the function catches it.
    - A step that is sent as a `stream` is mocked by `{ pieces, result }`: its texts, and the whole;
      with `error` in the place of `result` it breaks off. `expect.value` is then the list of
      events, each `{ event, data }`.
    - Values under `params` and `query` arrive as a request brings them. A case without `auth` asks
      without a token.
    - `apiKey` is a key that exists for this case, and that its request sends: `apiKey: {}`, or with
      the `id`, `name` and `claims` that `vars.apiKey` then holds. Endpoints that take no keys
      refuse it.
    - `files` are uploads by their names in the endpoint, one of each; beside them `input` has the
      fields of a form. A test of a function has none.
    - The steps `emit`, `enqueue` and `send` start nothing in a test: `expect.events` names the
      events, `expect.jobs` the jobs in their order, with a part of their `input`, and `expect.sent`
      the messages, with a part of their `payload`. `expect.published` are those of `publish`.
    - A test of a trigger gives it an `event` (of a webhook, its body as the `payload`), a test of a
      task lets it run: as a job, with its `where` and its `input`.
    - A test of an agent gives a chat its `input: { message }`, or an `event`; without both, the
      agent runs by its schedule. `model` are the answers of its model in their order: `{ say: text
      }`, `{ tool: function, args: {} }`, or a list of these; answers that are missing or left over
      fail the case. `approve` decides about the calls that wait for a person; without it, they are
      rejected. The result is `{ answer }`.
    - With `work: run` what follows runs, too: jobs, triggers, changes of rows that triggers wait
      for, further attempts; only what `send` sends goes nowhere. The clock, which `at` sets, jumps
      to the next time at which something is due: waits, delays and pauses take no time. Jobs run
      one by one. A job that fails for the last time fails the case, unless `expect.dead` names its
      work, such as `triggers/order-paid`.
    - With `work: run`, `events` are emitted meanwhile, in their order, at a time `after` the case
      began: jobs that `wait` for one go on, and triggers run. `expect.events` leaves them out.
    - `crash: each` also runs the case once for each commit of its jobs, ends the process right
      behind it, lets another one go on, and wants the same rows of all tables in the end; hashes of
      passwords, which have a new salt each time, count as equal.
    - Without `expect.status` any answer below 500 will do. `value` and `calls` show parts: maps may
      have more keys.
    - A test of a function runs neither middleware nor authentication: `auth` is its `vars.auth`,
      `apiKey` its `vars.apiKey`. Functions that read variables of middleware are tested by their
      endpoint. `event.payload` and the rows of `trigger` become what the function's `payload` and
      the trigger's table make of them.
    - Rows under `data` are complete: columns that take no null and have no default are given. The
      filter `bcrypt` is there in tests only.
    """

    __test__: ClassVar[bool] = False  # not a test class, despite its name
    folder: ClassVar[str] = "tests"
    rank: ClassVar[int] = 95

    description: str | None = None
    function: FunctionName | None = None
    endpoint: EndpointName | None = None
    trigger: TriggerName | None = None
    task: TaskName | None = None
    agent: AgentName | None = None
    data: dict[ColumnName, list[Row]] = {}
    mocks: dict[str, ValueField] = {}
    cases: list[Case] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse a test without a subject, or with two."""
        return need_one_of(cls, data, "function", "endpoint", "trigger", "task", "agent")

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return f"{len(body.get('cases') or ())} cases"
