"""The doors of running functions to the outside.

While a function runs, bbops reads the clock, random numbers and files only through the Host, so
that tests can replay every run. The server's doors are in `bbops_server.process.host`, those of
tests in `bbops.compiler.testing`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from bbops.base.doors import Files, OpenResponse, Pieces, Printer, Storage


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """Return the aware UTC time, to the microsecond."""
        ...


class Random(Protocol):
    """A source of random values."""

    def uuid(self) -> str:
        """Return a new UUID in lower case."""
        ...

    def token(self, length: int) -> str:
        """Return `length` random characters of a-z and 0-9, safe for secrets."""
        ...

    def integer(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        ...


Parameters = Sequence[object] | Callable[[list[list[tuple[Any, ...]]]], Sequence[object]]
"""The parameters of a statement in a list; a function makes them from earlier results."""


class Database(Protocol):
    """The project's tables. Rows are tuples in the order of the statement's columns.

    Statements are in the database's dialect, with `?` for parameters.
    """

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a reading statement."""
        ...

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Run one statement in its own transaction and return its RETURNING rows.

        More than `at_most` rows undo it and raise FlowError.
        """
        ...

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement in its own transaction and return the number of changed rows."""
        ...

    async def write_all(
        self, statements: Sequence[tuple[str, Parameters]]
    ) -> list[list[tuple[Any, ...]]]:
        """Run several statements in one transaction."""
        ...

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        """Return the rows of a `sql` step as maps of stored values.

        A statement without rows gives `[{"count": changed rows}]`; it writes only if `writes`.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        """Return a transaction: changes through its door are made together or not at all."""
        ...


class Log(Protocol):
    """The output of `log` steps."""

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """Write a line."""
        ...


Follows = Literal["all", "same-origin", "none"]
"""The redirects to follow; another one is the response."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request of a function to another server.

    Attributes:
        follows: the redirects to follow; other origins get no headers that identify the caller.
        most_bytes: the largest response, instead of the door's limit.
        keeps_bytes: the length at which a response is cut; None to fail for a larger one.
        is_from_row: whether the address comes from a row, where users of the project can write.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout_seconds: float
    follows: Follows = "all"
    keeps_bytes: int | None = None
    most_bytes: int | None = None
    is_from_row: bool = False


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class MailRequest:
    """Mails for a server to send. Its repr shows neither password nor mail.

    Attributes:
        host: the server, and the name in its certificate.
        is_tls: whether TLS starts with the first byte; else STARTTLS is required.
        authority: trusted certificates in PEM, instead of the public ones.
        mails: the recipients and the bytes of each.
        timeout_seconds: the timeout for all of them.
    """

    host: str
    port: int
    is_tls: bool
    user: str | None
    password: str | None = field(repr=False)
    authority: str | None = field(repr=False)
    sender: str
    mails: Sequence[tuple[Sequence[str], bytes]] = field(repr=False)
    timeout_seconds: float


class Http(Protocol):
    """Other servers."""

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the response, with any status.

        Raises:
            HttpFailure: there is no response, it is too large, or the address is not allowed.
        """
        ...

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Send mails over SMTP; return the refused recipients.

        Raises:
            HttpFailure: the server accepts none, or the address is not allowed.
        """
        ...


class OpenHttp(Protocol):
    """Other servers whose responses are read in parts."""

    async def open(self, request: HttpRequest) -> OpenResponse:
        """Return the response once its headers have arrived; redirects are not followed.

        Raises:
            HttpFailure: there is no response, or the address is not allowed.
            Unavailable: too many responses are open.
        """
        ...


class Together(Protocol):
    """Several requests that count as one."""

    async def do(self, ask: Callable[[Http], Awaitable[HttpResponse]]) -> HttpResponse:
        """Return the result of `ask`, which sends its requests through the given door."""
        ...


class Events(Protocol):
    """The queue of events and jobs."""

    async def emit(self, event: str, payload: Any, *, origin: str = "") -> None:
        """Emit an event to its triggers.

        Args:
            event: the name of the event.
            payload: the payload.
            origin: the step that emits, and its request.

        Raises:
            Failure: it cannot be written.
        """
        ...

    async def enqueue(
        self, work: str, uid: str, payload: Any, *, delay_ms: int = 0, unique: str | None = None,
        origin: str = "",
    ) -> str:  # fmt: skip
        """Create a job; return its name.

        Args:
            work: the work to run, such as `functions/orders/ship`.
            uid: the name of a new job.
            payload: the input of its function.
            delay_ms: the delay of its start.
            unique: a key; a waiting job with the same key is used instead of a new one.
            origin: the step that creates it, and its request.

        Raises:
            Failure: it cannot be written.
        """
        ...

    async def require_room(self) -> None:
        """Check that the queue accepts more.

        Raises:
            Unavailable: it is full.
        """
        ...

    async def send(self, webhook: str, message: str, given: Mapping[str, Any]) -> None:
        """Send a message to the receivers of a webhook, in the background.

        Args:
            webhook: the name of its file.
            message: the id, the same for all tries and receivers.
            given: `event`, `payload`, and `owner` if the webhook's receivers have one.

        Raises:
            Failure: it cannot be written.
        """
        ...

    async def cancel(self, uid: str) -> bool:
        """End a job that has not ended; return whether there was one."""
        ...

    async def status(self, uid: str) -> Mapping[str, Any] | None:
        """Return state, attempts, result and error of a job; None for an unknown one."""
        ...

    def within(self, database: Database) -> Events:
        """Return the queue of a transaction: it counts only if the transaction commits."""
        ...

    async def committed(self) -> None:
        """Report that the transaction of `within` has committed."""
        ...


class Waits(Protocol):
    """Waits of a job: its run ends there, and later continues from its record."""

    def pause(self, length_ms: int) -> None:
        """Wait for a time."""
        ...

    async def hear(
        self, event: str, is_it: Callable[[Any], bool], value: str, longest_ms: int
    ) -> Any:
        """Return the payload of an event since the start of the job; None after the timeout.

        Args:
            event: the name of the event.
            is_it: the condition for the payload.
            value: a value in the payload, see `runtime.work.triggers`.
            longest_ms: the timeout.
        """
        ...


class Record(Protocol):
    """The record of a job: the responses of other servers that count as received."""

    async def accept(self) -> None:
        """Record the response to the current step: later attempts of the job use it."""
        ...

    def reject(self) -> None:
        """Drop the response to the current step, which sends its request again."""
        ...


class Realtime(Protocol):
    """The topics of `publish`."""

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        """Send a message to the subscribers of a topic."""
        ...


class Addons(Protocol):
    """The steps of addons."""

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        """Run a step such as `email.sendEmail` and return its result."""
        ...

    async def stream(self, step: str, parameters: Mapping[str, Any]) -> Pieces:
        """Start a step with a streamed result."""
        ...

    def takes(self, step: str) -> bool:
        """Return whether the step is run here, and not by the server's own code."""
        ...


class Doors(Protocol):
    """The doors that functions of expressions use: `now()`, `uuid()` and their like."""

    @property
    def clock(self) -> Clock:
        """The clock of a flow."""
        ...

    @property
    def random(self) -> Random:
        """The source of random values of a flow."""
        ...


@dataclass(frozen=True, slots=True)
class Host:
    """The doors of a release."""

    clock: Clock
    random: Random
    database: Database
    log: Log
    addons: Addons | None = None
    """None if the release runs the steps itself."""
    events: Events | None = None
    """None without a queue."""
    waits: Waits | None = None
    """None in requests, which cannot wait."""
    realtime: Realtime | None = None
    """None without subscribers."""
    http: Http | None = None
    """None without access to other servers."""
    streams: OpenHttp | None = None
    """None outside of requests, which alone can stream."""
    files: Files | None = None
    """None without files of runs."""
    storage: Storage | None = None
    """None without stored files."""
    together: Together | None = None
    """None in requests, which record nothing."""
    record: Record | None = None
    """None in requests, which record nothing."""
    unrecorded: Host | None = None
    """The doors of a job without its record; None in requests."""
    printer: Printer | None = None
    """None without a printer."""
    sends: bool = True
    """False if webhooks are only logged, as in drafts."""
