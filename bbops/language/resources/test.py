"""test: cases of one function or endpoint, with rows, mocks and what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from bbops.base.model import Model
from bbops.base.names import ColumnName, EventName
from bbops.base.one_of import need_one_of
from bbops.language.expressions.values import BareField, ValueField
from bbops.language.resources._kind import EndpointName, FunctionName, Kind, WebhookName

Row = dict[ColumnName, ValueField]


class Event(Model):
    """What a trigger hands to its function as `event`."""

    name: str | None = None
    payload: ValueField | None = None


class Rows(Model):
    """What a trigger of the database hands to its function as `trigger`."""

    new_row: ValueField | None = None
    old_row: ValueField | None = None


class User(Model):
    """Who asks; a case without `auth` asks without a token."""

    user_id: ValueField
    email: ValueField | None = None
    role: ValueField | None = None
    claims: ValueField | None = None


class SentFile(Model):
    """A file that a case sends: its name, and what is in it."""

    name: Annotated[str, Field(min_length=1)]
    text: str | None = None
    base64: str | None = None

    @model_validator(mode="before")
    @classmethod
    def check_content(cls, data: Any) -> Any:
        """Refuse a file of nothing, or of two things."""
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


class Expect(Model):
    """What a case must give; what is left out does not matter."""

    status: Annotated[int, Field(ge=200, le=599)] | None = None
    value: ValueField | None = None
    check: list[BareField] = []
    rows: dict[ColumnName, Annotated[int, Field(ge=0)]] = {}
    events: list[str] | None = None
    jobs: list[ExpectedJob] | None = None
    sent: list[ExpectedMessage] | None = None
    calls: dict[str, list[ValueField]] = {}

    @field_validator("check", mode="before")
    @classmethod
    def read_one(cls, data: Any) -> Any:
        """Read a single expression as a list of one."""
        return data if isinstance(data, list) else [data]


class Case(Model):
    """One run, on a database of its own."""

    name: Annotated[str, Field(min_length=1)]
    auth: User | None = None
    params: dict[str, ValueField] = {}
    query: dict[str, ValueField] = {}
    headers: dict[str, ValueField] = {}
    input: ValueField | None = None
    files: dict[str, SentFile] = {}
    event: Event | None = None
    trigger: Rows | None = None
    mocks: dict[str, ValueField] = {}
    expect: Expect


class Test(Kind):
    """Cases of one function or endpoint: what is there, what is sent, what must come of it.

    - `bbops test` runs them, and so does `pytest` in the project's folder. Each case has a fresh
      database with the seed rows and `data`; the clock stands at 2026-01-02T03:04:05Z, generated
      ids count from 1,000,001, and env values without a default are made up.
    - `mocks` stand for steps of addons and for `http`, and only for these. A request takes the mock
      of its address, with or without the query, else that of `http`; a result with `status` is a
      whole answer `{status, headers, body}`, any other one a body, and `{ error: { status,
      message } }` a failure. A call that no mock answers fails the case, even where the function
      catches it.
    - Values under `params` and `query` arrive as a request brings them. A case without `auth` asks
      without a token.
    - `files` are uploads by their names in the endpoint, one of each; beside them the fields of
      `input` are those of a form. A test of a function has none.
    - The steps `emit`, `enqueue` and `send` start nothing in a test: `expect.events` names the
      events, `expect.jobs` the jobs in their order, with a part of their `input`, and `expect.sent`
      the messages, with a part of their `payload`.
    - Without `expect.status` any answer below 500 will do. `value` and `calls` show parts: maps may
      have more keys.
    - A test of a function runs neither middleware nor authentication: `auth` is its `vars.auth`,
      and one that reads what middleware sets is tested by its endpoint. `event.payload` and the
      rows of `trigger` become what the function's `payload` and the trigger's table make of them.
    - Rows under `data` are complete: columns that take no null and have no default are given. The
      filter `bcrypt` is there in tests only.
    """

    __test__: ClassVar[bool] = False  # no class of tests, whatever its name
    folder: ClassVar[str] = "tests"
    rank: ClassVar[int] = 95

    description: str | None = None
    function: FunctionName | None = None
    endpoint: EndpointName | None = None
    data: dict[ColumnName, list[Row]] = {}
    mocks: dict[str, ValueField] = {}
    cases: list[Case] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse a test of nothing, or of two things."""
        return need_one_of(cls, data, "function", "endpoint")

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return what a list says of a resource beside its description."""
        return f"{len(body.get('cases') or ())} cases"
