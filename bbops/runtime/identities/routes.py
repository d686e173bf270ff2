"""The routes at which a browser goes to a provider, and comes back signed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from bbops.runtime.flow.run import Answer, Run, issue_token
from bbops.runtime.http.forms import URL_ENCODED, read_pairs
from bbops.runtime.http.headers import write
from bbops.runtime.http.request_decoding import read_body
from bbops.runtime.http.session_cookies import SessionCookies, read_cookie
from bbops.runtime.identities.accounts import Accounts, User
from bbops.runtime.identities.kinds import PATH, Identity
from bbops.runtime.identities.started import LASTS_SECONDS, Seal, Started, is_return_path
from bbops.runtime.steps.sign_ins import begin_sign_in
from bbops.runtime.values.failures import NOTHING, FlowError, InvalidInput, Thrown

MOST_BYTES: Final = 16 << 10
"""Of the form with which a browser comes back."""
_MOST_TEXT: Final = 4_096
_DENIED: Final = frozenset(("access_denied", "user_cancelled_authorize"))
_NO_STORE: Final = b"cache-control", b"no-store"


class Provider(Protocol):
    """One place to sign in at."""

    posts: bool

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return where the browser goes to."""
        ...

    async def finish(
        self, started: Started, redirect_uri: str, given: Mapping[str, str]
    ) -> Identity:
        """Return whom it has sent."""
        ...

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an answer names no other issuer."""
        ...


@dataclass(frozen=True, slots=True)
class SignIn:
    """Sign-in at one provider.

    Attributes:
        base_url: the project's public address: no header of a request says it.
        session: sets the cookies of who is signed in.
        token_field: and `refresh_field`: how `session` calls what it takes.
    """

    name: str
    provider: Provider
    seal: Seal
    base_url: str
    accounts: Accounts
    session: SessionCookies
    token_field: str
    refresh_field: str | None
    is_secure: bool

    @property
    def redirect_uri(self) -> str:
        """Where the browser comes back to."""
        return f"{self.base_url}{PATH}{self.name}/callback"

    async def begin(self, run: Run, scope: Any) -> Answer:
        """Send the browser to the provider.

        Raises:
            InvalidInput: `return` is no path of the project.
            Thrown: the provider cannot be reached.
        """
        given = read_pairs(scope["query_string"], "the query")
        back = given.get("return", ["/"])
        if len(back) > 1 or not is_return_path(back[0]):
            raise InvalidInput({"return": ["expected a path of this project, such as /account"]})
        if not self.base_url:
            raise FlowError("the server has no public address for sign-ins to come back to")
        now = run.host.clock.now().timestamp()
        started, cookie = self.seal.begin(run.host.random, now, back[0])
        where = await self.provider.begin(started, self.redirect_uri)
        self._cookie(scope, cookie, LASTS_SECONDS)
        return _redirect(where)

    async def finish(self, run: Run, scope: Any, texts: Mapping[str, list[str]]) -> Answer:
        """Sign in who comes back, and send them to where they were.

        Raises:
            Thrown: the sign-in did not begin in this browser, or cannot be trusted; as
                `Accounts.find_or_add`.
        """
        now = run.host.clock.now().timestamp()
        started = self.seal.read(read_cookie(scope, self.seal.cookie.encode()), now)
        given = {name: values[0] for name, values in texts.items() if len(values) == 1}
        state = given.get("state", "")
        if started is None or not compare_digest(state.encode(), started.state.encode()):
            raise _invalid("the sign-in did not begin in this browser, or took too long")
        self._cookie(scope, "", 0)
        if not self.provider.is_from(given.get("iss")) or "iss" in texts.keys() - given.keys():
            raise _invalid("the answer is of another provider")
        if given.get("error") in _DENIED:
            sign = "&" if "?" in started.back else "?"
            path, _, fragment = started.back.partition("#")
            said = f"{path}{sign}{urlencode({'error': 'access_denied'})}"
            return _redirect(f"{self.base_url}{said}{'#' if fragment else ''}{fragment}")
        code = given.get("code", "")
        if "error" in texts or not 0 < len(code) <= _MOST_TEXT:
            raise _invalid(f"'{self.name}' did not confirm the sign-in")
        if not await self.accounts.use(run, started.id, now + LASTS_SECONDS):
            raise _invalid("this sign-in has ended already")
        identity = await self.provider.finish(started, self.redirect_uri, given)
        user = await self.accounts.find_or_add(run, identity)
        await self._keep(run, scope, user)
        return _redirect(self.base_url + started.back)

    async def _keep(self, run: Run, scope: Any, user: User) -> None:
        """Set the cookies of a session, as the answer of `session.login` would."""
        if self.refresh_field is None:
            token = issue_token(run, user.key, user.email, user.role, None, None)
            tokens = {self.token_field: token}
        else:
            both = await begin_sign_in(run, user.key, user.email, user.role, None, None)
            tokens = {self.token_field: both["token"], self.refresh_field: both["refreshToken"]}
        self.session.keep(scope, (200, tokens, None, None))

    def _cookie(self, scope: Any, value: str, seconds: float) -> None:
        # with a form another site's page comes back: only then is a stricter cookie left out
        site = "None" if self.provider.posts else "Lax"
        parts = [f"{self.seal.cookie}={value}", "Path=/", f"Max-Age={int(seconds)}", "HttpOnly"]
        parts += [f"SameSite={site}"] + (["Secure"] if self.is_secure else [])
        header = b"set-cookie", "; ".join(parts).encode()
        scope["bbops"].lines += write([header, _NO_STORE])


async def read_callback(scope: Any, receive: Any, *, posts: bool) -> Mapping[str, list[str]]:
    """Return what a browser brings, from its query, or of a provider that posts its form.

    Raises:
        InvalidInput: it cannot be read.
        TooLarge: it has more than MOST_BYTES.
        Thrown: it is no form.
    """
    if not posts:
        return read_pairs(scope["query_string"], "the query")
    content_type, body, _ = await read_body(scope, receive, MOST_BYTES)
    if content_type.partition(b";")[0].strip().lower() != URL_ENCODED.encode():
        raise Thrown(415, "expected a form")
    return read_pairs(body, "the form")


def _redirect(where: str) -> Answer:
    return 303, NOTHING, {"location": where, "referrer-policy": "no-referrer"}, None


def _invalid(message: str) -> Thrown:
    return Thrown(400, f"{message}: begin again", code="signInInvalid")
