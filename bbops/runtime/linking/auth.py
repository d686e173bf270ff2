"""Link `auth` and `session` of project.yaml: keys become Tokens, cookies have their rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bbops.runtime.auth.key_sets import KeySet
from bbops.runtime.auth.keys import MAKING, VerifyingKey, read_key
from bbops.runtime.auth.tokens import Credentials, Tokens
from bbops.runtime.http.session_cookies import CookieCredentials, CookieRules, SessionCookies
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.values.failures import FlowError

Env = Mapping[str, str | None]


def link_tokens(
    auth: Mapping[str, Any] | None, env: Env, host: Any, lasting: Lasting
) -> Tokens | None:  # fmt: skip
    """Return the tokens of a project, those of the release before where nothing about them changed.

    None without `auth`, or without its key: then nobody signs in.

    Raises:
        FlowError: a key does not fit its algorithm, or is too weak.
    """
    key = env.get(auth["key"]) if auth else None
    if auth is None or not key:
        return None
    options = {name: auth[name] for name in _OPTIONS}
    listed: Sequence[Mapping[str, Any]] = auth["keys"]

    def make() -> Tokens:
        others = [*_given(listed, env)]
        sets = [
            KeySet(one["url"], one["algorithm"], one["id"], clock=host.clock, log=host.log,
                   http=host.http) for one in listed if one["url"]
        ]  # fmt: skip
        try:
            tokens = Tokens(key, clock=host.clock, others=others, sets=sets, **options)
        except ValueError as error:
            raise _cannot_sign(auth, str(error)) from None
        if tokens.is_public:
            raise _cannot_sign(auth, "it is a public key, which can only verify tokens")
        return tokens

    known = [(*one.values(), env.get(one["key"] or "")) for one in listed]
    return lasting.tokens((key, *options.values(), *known), make)


def link_credentials(
    auth: Mapping[str, Any] | None, session: Mapping[str, Any] | None
) -> Credentials:  # fmt: skip
    """Return where requests of a project carry their tokens."""
    schemes = auth["schemes"] if auth else ("Bearer",)
    if session is None:
        return Credentials(schemes)
    return CookieCredentials(schemes, session["rules"]["name"])


def link_session(
    session: Mapping[str, Any] | None, endpoint: str, cors: Mapping[str, Any] | None
) -> SessionCookies | None:
    """Return what an endpoint does about cookies; None where sessions are kept in none.

    Args:
        session: as the artifact has it.
        endpoint: the name of it.
        cors: of its channel, whose listed origins may send cookies.
    """
    if session is None:
        return None
    origins: Sequence[str] = cors["origins"] if cors is not None and cors["credentials"] else ()
    listed = frozenset() if "*" in origins else frozenset(one.lower().encode() for one in origins)
    return SessionCookies(
        CookieRules(**session["rules"]), session["roles"].get(endpoint, ""), listed
    )


def _cannot_sign(auth: Mapping[str, Any], why: str) -> FlowError:
    command = MAKING.get(auth["algorithm"])
    cure = f"; '{command}' makes one" if command else ""
    return FlowError(f"env variable '{auth['key']}' cannot sign tokens: {why}{cure}")


_OPTIONS = (
    "algorithm", "expires_seconds", "refresh_seconds", "issuer", "audience", "user_id_type",
)  # fmt: skip


def _given(listed: Sequence[Mapping[str, Any]], env: Env) -> Iterator[VerifyingKey]:
    """Yield the keys whose variables have a value; an old one may be gone already."""
    for one in listed:
        text = env.get(one["key"]) if one["key"] else None
        if not text:
            continue
        try:
            _, key = read_key(text, one["algorithm"])
        except ValueError as error:
            raise FlowError(f"env variable '{one['key']}' cannot verify tokens: {error}") from None
        yield VerifyingKey(key, one["algorithm"], one["id"])
