"""One execution of a function: its values, doors, calls, tokens and streamed results."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from time import perf_counter
from typing import Any, NoReturn

from bbops.base.doors import Folder, Pieces, StreamEvent
from bbops.base.host import Log
from bbops.runtime.auth.tokens import Tokens
from bbops.runtime.flow.caching import Cache
from bbops.runtime.values.failures import NOTHING, BadValue, FlowError, OutOfFuel, Thrown, WrongKind
from bbops.runtime.values.operators import kind
from bbops.runtime.values.units import seconds
from bbops.runtime.values.values import check_size

MAX_DEPTH = 32
"""Functions that may wait for each other through `call`."""

MAX_LOG_SIZE = 100_000
"""Characters and members that one `log` step may write."""

Answer = tuple[Any, Any, Any, str | None]
"""(status, value or NOTHING, headers or None, content type or None)"""

Shape = Callable[[Any, str, dict[str, list[str]]], dict[str, Any]]


@dataclass(slots=True)
class Function:
    """A linked function: its code, and the shapes of what it is given."""

    name: str
    file: str
    flow: Callable[[Run], Awaitable[Answer]]
    needs: frozenset[str]
    unfolds: bool
    input: Shape | None
    from_form: Callable[[Mapping[str, list[str]]], dict[str, Any]] | None
    params: Shape | None
    query: Shape | None
    payload: Shape | None
    from_query: Callable[[Mapping[str, list[str]], dict[str, list[str]]], dict[str, Any]]
    from_params: Callable[[Mapping[str, str], dict[str, list[str]]], dict[str, Any]] | None
    query_names: frozenset[str] = frozenset()
    """Every name of a query that it declares."""
    reads_exactly: bool = False
    """Whether the numbers of its body are read as decimals."""
    has_files: bool = False
    """Whether it, or a function that it calls, takes or makes files of the run."""
    is_strict: bool = False
    """Whether a request with a name of its query that nobody declares is refused."""


_NONE: dict[str, Any] = {}  # shared, so never written to


class Run:
    """What a function's code sees. The pipeline fills in only what the code needs.

    A release makes a kind of its own, whose doors are the same for every run: see `bound_run`.
    """

    host: Any
    env: Mapping[str, Any]
    tokens: Tokens | None
    addons: Mapping[str, Any] = _NONE
    """The addons that are enabled, as `bbops.runtime.vendors` links them."""
    cache: Cache
    fuel: list[int]
    depth = 0
    params: Any = _NONE
    query: Any = _NONE
    headers: Any = _NONE
    input: Any = None
    request: Any = _NONE
    auth: Any = None
    api_key: Any = None
    credential: str | None = None
    """The request's token, for functions that look at it themselves."""
    kept: str | None = None
    """The refresh token among the request's cookies, for the endpoints that take it."""
    event: Any = None
    trigger: Any = None
    job: Any = None
    """`{id, attempt, key}` in a job."""
    folder: Folder | None = None
    """The files of the run, also in functions that it calls; None if no step has files."""
    trace: Any = None
    """The request that it runs for; None in a job."""
    vars: dict[str, Any] = _NONE
    """What goes from a middleware to what is behind it."""

    def origin(self, line: str) -> str:
        """Return what a job that this step causes is told of it: its place, and the request."""
        if self.trace is None:
            return line
        return f"request {self.trace.answering.name_request(self.trace).decode()} at {line}"

    def time_left(self) -> float:
        """Return the seconds that the request has left; without end in a job."""
        if self.trace is None:
            return inf
        left: float = self.trace.began + self.trace.timeout_seconds - perf_counter()
        return left

    def log(self, level: str, message: Any, data: Any, line: str) -> None:
        """Write one line to the server's log, with the step it comes from."""
        check_size([message, data], MAX_LOG_SIZE)
        self.host.log.write(level, message, {"step": line, "data": data})


def bound_run(
    host: Any, env: Mapping[str, Any], tokens: Tokens | None, addons: Mapping[str, Any]
) -> type[Run]:
    """Return the kind of Run whose doors are these: to make one costs next to nothing."""
    doors = {"host": host, "env": env, "tokens": tokens, "addons": addons, "cache": Cache()}
    return type("BoundRun", (Run,), doors)


WITHIN: ContextVar[Any] = ContextVar("WITHIN", default=None)
"""The doors of the transaction under way, if there is one."""


async def breathe(fuel: list[int]) -> None:
    """Called each 1,024 rounds: stop a run without end, let other requests go on.

    Raises:
        OutOfFuel: the run has spent what it may.
    """
    if fuel[0] <= 0:
        raise OutOfFuel("the function runs too long: too many loop rounds or calls")
    await sleep(0)


def given_to(callee: Function, input: Any, params: Any = None, query: Any = None) -> list[Any]:  # noqa: A002 - the step's words
    """Return what a function is given, as it declares it.

    Raises:
        BadValue: it does not fit.
    """
    errors: dict[str, list[str]] = {}
    parts = ((callee.input, input), (callee.params, params), (callee.query, query))
    given = [_shaped(shape, value, errors) for shape, value in parts]
    if errors:
        wrong = "; ".join(f"'{path}' {texts[0]}" for path, texts in errors.items())
        problem = BadValue(
            f"function '{callee.name}' was given wrong values: {wrong}",
            said="a value does not have the expected form",
        )
        problem.fields = errors
        raise problem
    return given


async def invoke(run: Run, callee: Function, input: Any, params: Any, query: Any) -> Any:  # noqa: A002 - the step's words
    """Run another function with variables of its own, and return its value.

    Raises:
        BadValue: what it is given does not fit its shapes.
        OutOfFuel: calls go too deep.
    """
    if run.depth >= MAX_DEPTH:
        raise OutOfFuel(f"more than {MAX_DEPTH} functions call each other")
    inner = type(run)()
    inner.fuel, inner.depth, inner.vars = run.fuel, run.depth + 1, {}
    inner.host, inner.trace = WITHIN.get() or run.host, run.trace
    inner.folder = run.folder
    inner.auth, inner.api_key = run.auth, run.api_key  # which rules of tables read
    inner.input, inner.params, inner.query = given_to(callee, input, params, query)
    value = (await callee.flow(inner))[1]
    return None if value is NOTHING else value


def _shaped(shape: Shape | None, value: Any, errors: dict[str, list[str]]) -> Any:
    return value if shape is None else shape({} if value is None else value, "", errors)


def thrown(status: Any, message: Any, value: Any, headers: Any) -> Thrown:
    """Return the error of a `throw` step."""
    if type(status) is not int or not 400 <= status <= 599:
        raise WrongKind("the status of an error is a number from 400 to 599")
    text = message if type(message) is str else None
    return Thrown(status, text, value=value, headers=headers)


_CODES = {400: "invalidInput", 413: "payloadTooLarge", 422: "unprocessable", 429: "rateLimited",
          500: "serverError"}  # fmt: skip


def code_of(status: int) -> str:
    """Return the machine-readable code of a status: `notFound` for 404."""
    if status in _CODES:
        return _CODES[status]
    try:
        first, *rest = HTTPStatus(status).phrase.replace("'", "").replace("-", " ").split()
    except ValueError:
        return "error"
    return first.lower() + "".join(word.capitalize() for word in rest)


def message_of(status: int) -> str:
    """Return the default text of a status, in lower case."""
    if status == 401:
        return "a valid token is needed"
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return "error"


# ---- tokens
def issue_token(run: Run, user: Any, email: Any, role: Any, claims: Any, expires: Any) -> str:
    """Sign a session token with the project's key."""
    if run.tokens is None:
        _no_key()
    if type(user) not in {str, int}:
        raise WrongKind(f"'userId' needs a text or a whole number, got {kind(user)}")
    if claims is not None and type(claims) is not dict:
        raise WrongKind(f"'claims' needs a map, got {kind(claims)}")
    lifetime = None if expires is None else seconds(expires)
    return run.tokens.issue(
        user, email=email, role=role, claims=claims, expires_seconds=lifetime,
        token_id=run.host.random.uuid(),
    )  # fmt: skip


async def verify_token(run: Run, token: Any, secret: Any, optional: Any) -> Any:
    """Return what a token says.

    Raises:
        Thrown: 401, when it is bad, or missing and not optional.
    """
    if token is None:
        if optional:
            return None
        raise Thrown(401)
    tokens = run.tokens if secret is None else _other_tokens(run, secret)
    if tokens is None:
        _no_key()
    if tokens.sets and type(token) is str:
        await tokens.prepare(token)
    claims = tokens.verify(token) if type(token) is str else None
    if claims is None:
        reason = tokens.rejection if type(token) is str else "it is not a text"
        log_rejection(run.host.log, reason, step="verifyJwt")
        raise Thrown(401)
    return claims


def log_rejection(log: Log, reason: str, **where: str) -> None:
    """Log why a token was rejected; no answer has it."""
    log.write("info", f"token rejected: {reason}", where)


def _other_tokens(run: Run, secret: Any) -> Tokens:
    if type(secret) is not str or not secret:
        raise WrongKind("'secret' needs a text")
    try:
        return Tokens(secret, algorithm="HS256", expires_seconds=3600, clock=run.host.clock)
    except ValueError as error:
        raise FlowError(f"'secret' cannot verify tokens: {error}") from None


def _no_key() -> NoReturn:
    raise FlowError("project.yaml has no 'auth.signingKey'")


class SentStream:
    """The value of an answer that is sent piece by piece.

    Attributes:
        line: the step that gives it, such as `functions/ask.yaml:4`.
    """

    __slots__ = ("_pieces", "_typed", "line")

    def __init__(self, pieces: Pieces, typed: Callable[[Any], Any], line: str) -> None:
        """Args: `typed` makes the result a value of the step's type, or raises a Failure."""
        self._pieces, self._typed, self.line = pieces, typed, line

    async def read(self) -> Sequence[str | StreamEvent] | None:
        """Return the pieces that have come since, once something has; None at the end."""
        return await self._pieces.read()

    def result(self) -> Any:
        """Return what the step would have returned; only at the end."""
        return self._typed(self._pieces.result())

    async def close(self) -> None:
        """End it, also in the middle."""
        await self._pieces.close()
