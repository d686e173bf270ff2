"""Who may ask: what a request has to show before the functions of its endpoint run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from bbops.runtime.auth.api_keys import hash_secret
from bbops.runtime.flow.run import Run, log_rejection
from bbops.runtime.http.headers import find_header
from bbops.runtime.http.rate_limits import Limit, NameLimits, Told
from bbops.runtime.http.responses import Answering
from bbops.runtime.http.session_cookies import SessionCookies
from bbops.runtime.steps.api_keys import given_key
from bbops.runtime.values.failures import Thrown

SIGN_INS: Final = "sign-in"
"""What a limit of an endpoint without a channel is called."""
NAMES: Final = ("email", "username", "user", "login", "phone")
"""Fields that say who wants to sign in; each that is there counts, or one could hide another."""

Admit = Callable[[Run, Any], None]
AdmitLater = Callable[[Run, Any], Awaitable[None]]


class Admission:
    """What one endpoint asks of a request; made once per release.

    Attributes:
        admit: asks what can be answered at once; None where there is nothing to ask.
        admit_later: asks what has to wait for the database, or for another server; likewise.
    """

    __slots__ = (
        "_answering",
        "_at_once",
        "_authentication",
        "_by_address",
        "_channel",
        "_guard",
        "_keys",
        "_limit",
        "_roles",
        "_session",
        "_tokens",
        "_told",
        "admit",
        "admit_later",
        "find",
    )  # fmt: skip

    def __init__(
        self, authentication: str, limit: Limit | None, channel: str, answering: Answering, *,
        shows_token: bool, session: SessionCookies | None = None, is_change: bool = False,
        roles: frozenset[str] | None = None, by_address: bool = False, counted: str = "",
    ) -> None:  # fmt: skip
        """Take what the endpoint and its channel say.

        Args:
            roles: of which the token has to have one; None for any token.
            by_address: the limit counts addresses, also of users.
            counted: what the limit is called, where that is not the channel.
            shows_token: a function of the endpoint looks at the request's token itself.
            session: what it does about cookies, where the project keeps its sessions in them.
            is_change: a request may change something.
        """
        self._authentication, self._limit, self._channel = authentication, limit, channel
        self._roles, self._by_address = roles, by_address
        name = counted or channel or SIGN_INS
        self._told = Told(name, limit.most, limit.seconds) if limit else Told(name, 0)
        self._tokens, self._keys = answering.tokens, answering.api_keys
        self._answering = answering
        self.find, self._session = answering.credentials.find, session
        self._guard = session.guard if session is not None and is_change else None
        self._at_once = self._way(shows_token=shows_token)
        self.admit, self.admit_later = self._at_once, self._later()
        if self.admit_later == self._admit_user_of_others:
            self.admit = None

    def _way(self, *, shows_token: bool) -> Admit | None:
        admit: Admit | None = None
        if self._authentication == "JWT":
            admit = self._admit_user
        elif self._authentication == "Optional":
            admit = self._admit_known
        elif shows_token:
            admit = self._admit_anyone
        elif self._limit is not None and self._authentication != "API Key":
            admit = self._count
        if self._session is not None and self._session.role:
            return self._open_after(self._session, admit)
        return admit

    def _later(self) -> AdmitLater | None:
        if self._authentication == "API Key":
            return self._admit_key
        has_sets = self._tokens is not None and self._tokens.sets
        takes_tokens = self._authentication in {"JWT", "Optional"}
        return self._admit_user_of_others if has_sets and takes_tokens else None

    def _open_after(self, session: SessionCookies, admit: Admit | None) -> Admit:
        def admit_and_open(run: Run, scope: Any) -> None:
            if admit is not None:
                admit(run, scope)
            run.kept = session.open(scope)

        return admit_and_open

    def _admit_user(self, run: Run, scope: Any) -> None:
        """Require a signed-in user, whom the channel's limit counts.

        Raises:
            Thrown: 429 beyond the limit; 401 without a valid token; 403 from another origin, or
                where the token has none of the roles.
        """
        token, tokens = self.find(scope), self._tokens
        claims = tokens.verify(token) if token is not None and tokens is not None else None
        if self._limit is not None:
            user = f"user:{claims['userId']}" if claims and not self._by_address else None
            check_limit(self._limit, self._told, user or address_of(scope), scope)
        if claims is None:
            if token is not None and tokens is not None:
                request = self._answering.name_request(scope["bbops"]).decode()
                log_rejection(self._answering.host.log, tokens.rejection, request=request)
            raise Thrown(401)
        if self._guard is not None:
            self._guard(scope, token)
        if self._roles is not None and claims["role"] not in self._roles:
            raise Thrown(403, "your role may not do this")
        run.auth, run.credential, scope["bbops"].user = claims, token, claims["userId"]

    def _admit_known(self, run: Run, scope: Any) -> None:
        """Take a user who says so, and everybody who says nothing.

        Raises:
            Thrown: as `_admit_user` where the request has a token, or tries to have one.
        """
        if self.find(scope) is None and not find_header(scope["headers"], b"authorization"):
            self._count(run, scope)
        else:
            self._admit_user(run, scope)

    async def _admit_user_of_others(self, run: Run, scope: Any) -> None:
        """Do as `_admit_user`, after looking for a key that is new to this server."""
        token = self.find(scope)
        if token is not None and self._tokens is not None:
            await self._tokens.prepare(token)
        assert self._at_once is not None  # noqa: S101 - a user is asked for
        self._at_once(run, scope)

    def _admit_anyone(self, run: Run, scope: Any) -> None:
        """Keep the token for the function, valid or not. Raises as `_count`."""
        if self._authentication != "API Key":  # counted once its key is known
            self._count(run, scope)
        run.credential = self.find(scope)
        if self._guard is not None:
            self._guard(scope, run.credential)

    def _count(self, _: Run, scope: Any) -> None:
        """Count the request against its channel's limit.

        Raises:
            Thrown: 429 beyond it.
        """
        if self._limit is not None:
            check_limit(self._limit, self._told, address_of(scope), scope)

    async def _admit_key(self, run: Run, scope: Any) -> None:
        """Require a key that opens this channel; the limit counts each key, else the address.

        Raises:
            Thrown: 429 beyond the limit; 401 without such a key.
        """
        given = given_key(scope)
        key = await self._keys.verify(given, self._channel) if given else None
        if self._limit is not None:
            name = f"key:{key['id']}" if key and not self._by_address else None
            check_limit(self._limit, self._told, name or address_of(scope), scope)
        if key is None:
            raise Thrown(401, "a valid API key is needed")
        run.api_key, scope["bbops"].user = key, f"key:{key['id']}"


def address_of(scope: Any) -> str:
    """Return the name under which a limit counts the address of a request."""
    client = scope.get("client")
    return f"ip:{client[0] if client else ''}"


def check_limit(limit: Limit, told: Told, key: str, scope: Any) -> None:
    """Count a request of a user, an API key or an address; its answer tells what is left.

    Raises:
        Thrown: 429 with `retry-after`.
    """
    trace = scope["bbops"]
    left, seconds = limit.take(key)
    if left < 0:
        wait = limit.retry_after_seconds(key)
        trace.lines += told.lines(0, wait)
        raise _too_many(wait)
    trace.lines += told.lines(left, seconds)


def check_name(limits: NameLimits, given: Any, scope: Any) -> None:
    """Count an attempt to sign in against the name it is for, in any spelling of its case.

    One that its address may not make does not count against the name elsewhere.

    Raises:
        Thrown: 429 with `retry-after`.
    """
    for field in NAMES:
        name = given.get(field) if type(given) is dict else None
        if type(name) is str:
            key = f"name:{hash_secret(name.strip().casefold())}"
            _count(limits.near, f"{key} {address_of(scope)}")
            _count(limits.anywhere, key)


def _count(limit: Limit, key: str) -> None:
    if not limit.allow(key):
        raise _too_many(limit.retry_after_seconds(key))


def _too_many(wait: int) -> Thrown:
    return Thrown(429, f"try again in {wait} s", headers={"retry-after": str(wait)})
