"""What a review is told by a code: each one's meaning, and its cure. Codes are forever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Section = Literal["break", "access"]


@dataclass(frozen=True, slots=True)
class Code:
    """What a code stands for.

    Attributes:
        section: `break`, clients of today stop working; `access`, somebody may more than today.
        text: what it says of a change.
        cure: what to do where it was not intended.
    """

    section: Section
    text: str
    cure: str


def _breaks(text: str, cure: str) -> Code:
    return Code("break", text, cure)


def _opens(text: str, cure: str) -> Code:
    return Code("access", text, cure)


_BESIDE = "keep the old one, and put the new one beside it, under /v2 say"

CODES: Final[Mapping[str, Code]] = {
    "route-removed": _breaks(
        "a route is gone, and nothing answers at its path",
        "keep it until its last client has moved",
    ),
    "method-removed": _breaks(
        "a path no longer takes a method, though it takes others",
        "keep it until its last client has moved",
    ),
    "route-moved": _breaks(
        "an endpoint answers another method or path than before",
        "leave a copy of the endpoint at the old path",
    ),
    "authentication-required": _breaks(
        "a public route now needs a token", _BESIDE
    ),
    "authentication-changed": _breaks(
        "another kind of authentication, or another word before the token, is needed now", _BESIDE
    ),
    "api-key-required": _breaks("an API key is needed now", _BESIDE),
    "input-required": _breaks(
        "a request must have a field that it could leave out",
        "name it with '?', or give it a default",
    ),
    "input-removed": _breaks(
        "a field of the request is silently dropped", "keep accepting it"
    ),
    "input-type": _breaks(
        "a field of the request takes another type, which existing requests may not match", _BESIDE
    ),
    "input-null": _breaks(
        "a field of the request can no longer be null", "write '?' after its type"
    ),
    "input-enum": _breaks(
        "a field of the request takes fewer values", "keep the values that clients send"
    ),
    "input-limit": _breaks(
        "a length, bound, pattern or size of the request is tighter", "keep the wider limit"
    ),
    "status-removed": _breaks(
        "a route no longer answers with a status that clients wait for", "keep the status"
    ),
    "field-removed": _breaks("a response lacks a field that it had", "keep the field"),
    "field-optional": _breaks(
        "a response may lack a field that it always had", "include it in every response"
    ),
    "field-null": _breaks(
        "a field of an answer may be null, which it never was", "give a value in its place"
    ),
    "field-type": _breaks(
        "a field of an answer has another type, or one that is no longer known",
        "keep the type, and give the new value under a name of its own",
    ),
    "field-enum": _breaks(
        "a field of an answer may have values that clients do not know",
        "tell the clients first, or keep the values",
    ),
    "signing-changed": _breaks(
        "everyone must sign in again, and programs that verify tokens need a new key",
        "say so before, or keep 'auth.algorithm'",
    ),
    "session-changed": _breaks(
        "frontends must sign in differently", "keep the names of `session`"
    ),
    "topic-removed": _breaks(
        "a realtime topic, or an event of one, is gone", "keep it until nobody subscribes"
    ),
    "webhook-removed": _breaks(
        "nothing handles the calls of a webhook any more",
        "stop the calls on the other side first",
    ),
    "authentication-removed": _opens(
        "a route that needed a token or key is now public", "keep the authentication"
    ),
    "rows-opened": _opens(
        "anybody may read values or rows that no public route gave",
        "keep the authentication, select fewer columns, or ask for fewer rows in 'where'",
    ),
    "rate-limit-raised": _opens(
        "clients may ask more often, or without a limit", "keep the limit"
    ),
    "cors-widened": _opens(
        "pages of more origins may read answers, or send more with them",
        "list the origins that are meant",
    ),
    "private-opened": _opens(
        "a private column may reach answers", "keep 'private: true'"
    ),
    "secret-opened": _opens(
        "an env variable is no longer a secret, and may reach answers and the log",
        "keep 'secret: true'",
    ),
    "guard-removed": _opens(
        "a condition that refuses requests, or looks at who asks, is gone",
        "keep the check, in the function or in middleware",
    ),
    "guard-changed": _opens(
        "a condition that refuses requests, or looks at who asks, is another one",
        "check that it refuses all that it should",
    ),
    "middleware-removed": _opens(
        "a function that ran before others no longer does", "keep it in 'middleware'"
    ),
    "outside-address": _opens(
        "requests go to a new server", "check whose server it is, and what is sent"
    ),
    "secret-read": _opens(
        "a function reads a secret for the first time", "check where it is sent"
    ),
    "signature-dropped": _opens(
        "a webhook accepts unsigned requests, or another secret",
        "keep the signature of the trigger",
    ),
    "sql-writes": _opens(
        "a function writes with its own SQL, which the rules of steps do not limit",
        "use 'insert', 'update' or 'delete' if possible",
    ),
    "topic-opened": _opens(
        "more clients may subscribe to a topic, or publish on it",
        "keep the condition of 'subscribe' or 'publish'",
    ),
    "cookie-loosened": _opens(
        "the session cookie is less protected", "keep 'secure', 'sameSite', 'csrfHeader'"
    ),
    "key-trusted": _opens(
        "tokens of another issuer are accepted", "check whose key it is"
    ),
    "agent-tool-added": _opens(
        "a model may call a function that it could not call", "check what the function changes"
    ),
    "review-loosened": _opens(
        "changes need less review, or no passing tests",
        "keep the rules; this change is still reviewed by the old ones",
    ),
}  # fmt: skip
"""Every code, breaks first."""
