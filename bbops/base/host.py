"""The doors through which a running function touches the world.

Nothing in bbops reads a clock, draws a number or opens a file by itself while a function runs:
it asks the Host, so that every run can be replayed in a test. The server's real doors are in
`bbops_server.process.host`, a test's in `bbops.compiler.testing`.
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
    """Chance."""

    def uuid(self) -> str:
        """Return a new UUID in lower case."""
        ...

    def token(self, length: int) -> str:
        """Return `length` characters of a-z and 0-9 that nobody can guess."""
        ...

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        ...


Parameters = Sequence[object] | Callable[[list[list[tuple[Any, ...]]]], Sequence[object]]
"""Of a statement among several; they may be made of the rows of those before it."""


class Database(Protocol):
    """The project's tables. Rows come back as tuples in the order the statement names.

    Statements are those of the database; every one has `?` for its parameters.
    """

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that changes nothing."""
        ...

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Run one statement in its own transaction and return its RETURNING rows.

        More than `at_most` rows undo it and raise FlowError.
        """
        ...

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement in its own transaction and return how many rows it changed."""
        ...

    async def write_all(
        self, statements: Sequence[tuple[str, Parameters]]
    ) -> list[list[tuple[Any, ...]]]:
        """Run several statements in one transaction."""
        ...

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        """Return the rows of an author's own statement by their names, as they are stored.

        One that returns no rows gives `[{"count": rows it changed}]`; it writes only where it may.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        """Return a transaction: what is done through the door that it gives is done wholly."""
        ...


class Log(Protocol):
    """Where a function's `log` steps go."""

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """Write one line."""
        ...


Follows = Literal["all", "same-origin", "none"]
"""Which redirects are followed; another one is the answer."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What a function asks another server.

    Attributes:
        follows: which redirects; to another origin only headers go that say nothing of the caller.
        most_bytes: of an answer, in the place of what the door takes.
        keeps_bytes: the answer is read up to here and cut; without it one that is too large fails.
        is_from_row: the address stands in a row, where people who use the project may write it.
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
    """What it answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class MailRequest:
    """A mail that a server is to send. Its text shows neither password nor mail.

    Attributes:
        host: of the server, and the name that its certificate must have.
        is_tls: TLS from the first byte; else by STARTTLS, without which nothing is sent.
        authority: certificates in PEM that are trusted in the place of the public ones.
        mails: the recipients and the bytes of each.
        timeout_seconds: for all of it.
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
        """Return the answer, whatever its status.

        Raises:
            HttpFailure: there is none, it is too large, or the address is not allowed.
        """
        ...

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Give mails to a server over SMTP; return the recipients that it refused.

        Raises:
            HttpFailure: it took nothing, or the address is not allowed.
        """
        ...


class OpenHttp(Protocol):
    """Other servers whose answers are read as they come."""

    async def open(self, request: HttpRequest) -> OpenResponse:
        """Return the answer once its headers are there; no redirect is followed.

        Raises:
            HttpFailure: there is none, or the address is not allowed.
            Unavailable: as many answers are open as may be.
        """
        ...


class Together(Protocol):
    """Several requests whose outcome counts as that of one."""

    async def do(self, ask: Callable[[Http], Awaitable[HttpResponse]]) -> HttpResponse:
        """Return what `ask` gives, which sends what it needs through the door that it gets."""
        ...


class Events(Protocol):
    """Where `emit` and `enqueue` go, and what they have made."""

    async def emit(self, event: str, payload: Any, *, origin: str = "") -> None:
        """Tell the triggers of an event.

        Args:
            event: its name.
            payload: what they are given.
            origin: the step that emits, and the request that it runs for.

        Raises:
            Failure: it cannot be written.
        """
        ...

    async def enqueue(
        self, work: str, uid: str, payload: Any, *, delay_ms: int = 0, unique: str | None = None,
        origin: str = "",
    ) -> str:  # fmt: skip
        """Make a job; return the name that it has.

        Args:
            work: what it runs, such as `functions/orders/ship`.
            uid: the name that a new one has.
            payload: what its function is given.
            delay_ms: it begins so much later.
            unique: while a job of the same one has not begun, that is the job.
            origin: the step that makes it, and the request that it runs for.

        Raises:
            Failure: it cannot be written.
        """
        ...

    async def require_room(self) -> None:
        """Do nothing where the queue takes more.

        Raises:
            Unavailable: it does not.
        """
        ...

    async def send(self, webhook: str, message: str, given: Mapping[str, Any]) -> None:
        """Send a message to the receivers of a webhook, in the background.

        Args:
            webhook: the name of its file.
            message: what all tries and receivers of it have in common.
            given: `event`, `payload`, and `owner` where the webhook's receivers have one.

        Raises:
            Failure: it cannot be written.
        """
        ...

    async def cancel(self, uid: str) -> bool:
        """End a job that has not ended; return whether there was one."""
        ...

    async def status(self, uid: str) -> Mapping[str, Any] | None:
        """Return state, attempts, result and error of a job; None where there is none."""
        ...

    def within(self, database: Database) -> Events:
        """Return what a transaction emits through: it counts only if the transaction commits."""
        ...

    async def committed(self) -> None:
        """Say that the transaction of `within` has committed."""
        ...


class Waits(Protocol):
    """Where a job sleeps: its run ends there, and goes on from the record."""

    def pause(self, length_ms: int) -> None:
        """Go on when a time is over."""
        ...

    async def hear(
        self, event: str, is_it: Callable[[Any], bool], value: str, longest_ms: int
    ) -> Any:
        """Return the payload of an event since the job began; None when the time is over.

        Args:
            event: its name.
            is_it: says of a payload whether it is the one.
            value: what the payload must hold somewhere, see `runtime.work.triggers`.
            longest_ms: how long to wait for it.
        """
        ...


class Record(Protocol):
    """The record of a job: which answers of other servers count as received."""

    async def accept(self) -> None:
        """Record what the current step received: no later attempt of the job asks for it again."""
        ...

    def reject(self) -> None:
        """Drop what the current step received: it asks again, as do later attempts of the job."""
        ...


class Realtime(Protocol):
    """Where `publish` goes."""

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        """Tell who has subscribed to a topic."""
        ...


class Addons(Protocol):
    """Where the steps of addons go."""

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        """Do a step such as `email.sendEmail` and return its result."""
        ...

    async def stream(self, step: str, parameters: Mapping[str, Any]) -> Pieces:
        """Begin a step whose answer comes piece by piece."""
        ...

    def takes(self, step: str) -> bool:
        """Return whether the step comes here, and not to what does it in the server."""
        ...


class Doors(Protocol):
    """The doors that functions of expressions use: `now()`, `uuid()` and their like."""

    @property
    def clock(self) -> Clock:
        """The clock a flow reads."""
        ...

    @property
    def random(self) -> Random:
        """The source of chance a flow draws from."""
        ...


@dataclass(frozen=True, slots=True)
class Host:
    """All the doors of one release."""

    clock: Clock
    random: Random
    database: Database
    log: Log
    addons: Addons | None = None
    """None where the release itself knows what it can do."""
    events: Events | None = None
    """None where nobody listens."""
    waits: Waits | None = None
    """None where nothing can wait: in requests."""
    realtime: Realtime | None = None
    """None where nobody can subscribe."""
    http: Http | None = None
    """None where nothing outside may be asked."""
    streams: OpenHttp | None = None
    """None where no answer is read as it comes: only requests have answers that go on."""
    files: Files | None = None
    """None where no run has files."""
    storage: Storage | None = None
    """None where no project keeps files."""
    together: Together | None = None
    """None where nothing is recorded: in requests."""
    record: Record | None = None
    """None where nothing is recorded: in requests."""
    unrecorded: Host | None = None
    """The doors of a job that record nothing; None in requests, where none does."""
    printer: Printer | None = None
    """None where nothing is printed."""
    sends: bool = True
    """False where webhooks are only written to the log, as in drafts."""
