"""trigger: a function that runs when rows change, an event is emitted or a webhook is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model, RunBy, need_one_of
from bbops.base.names import Duration, EnvReference, EventName
from bbops.language.addons._base import Setting
from bbops.language.expressions.values import BareField
from bbops.language.resources._job import Debounce, Lane, Priority, Retry, Unique
from bbops.language.resources._kind import FunctionName, KebabName, Kind, TableName
from bbops.language.resources.channel import HeaderName
from bbops.runtime.work.signatures import KEY_PAIRS, Scheme

Operation = Literal["insert", "update", "delete"]
WebhookPath = Annotated[
    str, StringConstraints(pattern=r"^/[A-Za-z0-9_.~-]+(?:/[A-Za-z0-9_.~-]+)*$", max_length=500)
]

BodyPath = Annotated[str, StringConstraints(pattern=r"^[^.\s]+(?:\.[^.\s]+)*$", max_length=200)]


class DatabaseTrigger(Model):
    """Rows of a table; `where` reads `newRow`, `oldRow` and the row's columns by their names."""

    sees_all_rows: ClassVar[bool] = True  # the project reads events, not a user

    table: TableName
    operation: list[Operation] = Field(min_length=1)
    where: BareField | None = None

    @field_validator("operation", mode="before")
    @classmethod
    def read_one(cls, data: Any) -> Any:
        """Read a single operation as a list of one."""
        return [data] if isinstance(data, str) else data


class Signature(Model):
    """How the service signs the raw body; `secret` is one, or a list while one replaces another.

    - `hmac`: HMAC-SHA256 in `header`, in hex or base64, with or without `sha256=` before it.
    - `standard`: as Standard Webhooks says, with a secret in base64, `whsec_` before it or not.
    - `stripe`, `github`, `slack`, `twilio` and `hubspot`: as those services do. The secret is the
      signing secret of Slack's app, the auth token of Twilio, the client secret of HubSpot's app.
    - `discord` and `sendgrid` sign with a private key: `publicKey` is theirs, in hex or base64, in
      place of `secret`.
    - `tolerance` is how far the clock of a service may be from the server's, where it says when it
      signed: all but `hmac`, `github` and `twilio`.
    """

    scheme: Scheme = "hmac"
    header: HeaderName | None = None
    secret: list[EnvReference] = Field(default=[], max_length=10)
    public_key: list[Setting] = Field(default=[], max_length=10)
    tolerance: Duration = "5m"

    @field_validator("secret", "public_key", mode="before")
    @classmethod
    def read_one(cls, data: Any) -> Any:
        """Read a single secret as a list of one."""
        return [data] if isinstance(data, str) else data

    @model_validator(mode="after")
    def check_secret(self) -> Self:
        """Refuse a secret for a service with a key pair, and a public key for any other service."""
        right, wrong = ("publicKey", "secret") if self.scheme in KEY_PAIRS else (
            "secret", "publicKey"
        )  # fmt: skip
        given = {"secret": self.secret, "publicKey": self.public_key}
        if given[wrong]:
            message = f"the scheme '{self.scheme}' has no '{wrong}'"
            hint = f"write '{right}' in its place"
            raise PydanticCustomError("one_of", message, {"key": wrong, "hint": hint})
        if not given[right]:
            message = f"'{right}' is missing: the scheme '{self.scheme}' needs it"
            raise PydanticCustomError("one_of", message, {"key": "", "hint": ""})
        return self

    @model_validator(mode="after")
    def check_header(self) -> Self:
        """Refuse a custom header for a scheme with its own, and a missing header for the others."""
        if (self.scheme == "hmac") is (self.header is None):
            message = (
                "'header' is missing: the scheme 'hmac' has none of its own"
                if self.header is None
                else f"the scheme '{self.scheme}' has headers of its own"
            )
            hint = "such as 'header: x-signature'" if self.header is None else "remove 'header'"
            raise PydanticCustomError("one_of", message, {"key": "", "hint": hint})
        return self


class DeliveryId(Model):
    """The name of a delivery; the short form is a path in the body, such as `data.id`.

    - `header` takes it from a header instead. `hmac` does not sign headers: a copied delivery with
      another name in the header is valid, and runs again.
    """

    short_form: ClassVar[str] = "a path in the body such as data.id"

    body: BodyPath | None = None
    header: HeaderName | None = None

    @model_validator(mode="before")
    @classmethod
    def read_body_path(cls, data: Any) -> Any:
        """Read a text as a path in the body."""
        return {"body": data} if isinstance(data, str) else need_one_of(cls, data, "body", "header")


class Webhook(Model):
    """A JSON POST from another service. For unsigned requests, use an endpoint instead.

    - `id` is where a delivery has its name. A second delivery with the same name within 7 days
      runs nothing. Without `id`, the scheme takes the name from its usual place; for `hmac` that is
      the header `webhook-id`, and a delivery without that header runs whenever it arrives.
    """

    path: WebhookPath
    id: DeliveryId | None = None
    signature: Signature


class Trigger(Kind):
    """A function that runs when rows change, on an event, or for a webhook.

    - Each event runs it in one job, after the commit and outside the request. A job that fails is
      tried again; what it writes to the project's tables happens once. What it returns is ignored.
    - `database`: `trigger.newRow` and `trigger.oldRow` are the row after and before the change,
      typed as the table's. An insert has no old row, a delete no new one. `where` reads `newRow`,
      `oldRow`, and columns by their bare names (of the new row; of a delete, the old one). The
      database itself reports changes: those of other programs, cascades and `sql` run it, too.
      Migrations and seed rows do not.
    - `where` looks at what has happened alone: `now()` and random values have no place in it.
    - The database compares `where` with the rows as it reports a change, as far as `where` compares
      columns that are texts, integers, numbers or booleans with constants or with one another: a
      change that does not fit costs next to nothing. The rest is compared later.
    - `event`: what a step `emit` says, one name or a list; `event.name`, and `event.payload` as its
      `payload` shape describes it (json without one). `where` beside `event` or `webhook` reads
      `event`.
    - The event `bbops.job-dead` says that a job has failed for the last time: its payload is `job`,
      `work` (such as `triggers/order-paid`), `error` and `attempts`. A trigger on it does not run
      for its own jobs.
    - `webhook` takes a POST of JSON, which becomes `event.payload`. Its path has no parameters, and
      it is always signed: use an endpoint for unsigned ones. It is answered 202 once it is kept;
      what comes again under the same `id` within 7 days is answered so, too, and runs nothing.
    - Jobs have no order, unless `lane` gives them one: those of one `key` run one by one, in the
      order of what has happened, also while one of them waits for another attempt. With a `limit`
      above 1 so many run at a time, without an order. `key` reads what `where` reads, and gives
      a text or an integer.
    - `unique`: what comes with a `key` that a job has had within `for`, by default 24 hours, runs
      nothing. `debounce`: of what comes with one `key` only the last runs, once nothing has come
      `for` so long. Their keys read what `where` reads.
    - `priority` is for jobs that wait for room. `timeout` is for one attempt, by default 15
      minutes.
    - `onDead` is a function that runs when a job has failed for the last time, with the event
      `bbops.job-dead`. It does not run for its own jobs.
    - The event `bbops.task-missed` says that a task did not run at its time, because the server
      was down: its payload is `task`, `first`, `last` and `count`.
    - `renamedFrom` is the name that the trigger had before: its jobs go on under the new one.
    - Its function gets no request: `params`, `query`, `input`, `headers`, `request` and `vars.auth`
      are mistakes there.
    """

    folder: ClassVar[str] = "triggers"
    run_by: ClassVar[str] = "bbops.runtime.work.triggers"
    rank: ClassVar[int] = 60
    nests: ClassVar[bool] = False

    description: str | None = None
    database: Annotated[DatabaseTrigger | None, RunBy("bbops.runtime.work.rows")] = None
    event: Annotated[list[EventName], Field(min_length=1, max_length=100)] | None = None
    where: BareField | None = None
    webhook: Annotated[Webhook | None, RunBy("bbops.runtime.work.webhooks")] = None
    function: FunctionName
    lane: Lane | None = None
    priority: Priority = "normal"
    timeout: Duration | None = None
    retry: Retry | None = None
    unique: Unique | None = None
    debounce: Debounce | None = None
    on_dead: FunctionName | None = None
    renamed_from: KebabName | None = None
    enabled: bool = True

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse a trigger without a kind, or with two, and a condition at the wrong place."""
        if isinstance(data, dict) and "where" in data and "database" in data:
            message, hint = "'where' here is not about rows", "write it inside 'database'"
            raise PydanticCustomError("one_of", message, {"key": "where", "hint": hint})
        if isinstance(data, dict) and {"unique", "debounce"} <= data.keys():
            message = "'debounce' cannot be combined with 'unique'"
            raise PydanticCustomError("one_of", message, {"key": "debounce"})
        return need_one_of(cls, data, "database", "event", "webhook")

    @field_validator("event", mode="before")
    @classmethod
    def read_one(cls, data: Any) -> Any:
        """Read a single event as a list of one."""
        return [data] if isinstance(data, str) else data

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return f"→ {body.get('function')}"
