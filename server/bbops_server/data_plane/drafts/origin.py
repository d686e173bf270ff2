"""Keep an answer of a draft to itself: it must not change what browsers do with live pages.

A draft may answer on the origin of the live project, so a header that speaks of a whole origin
would speak of the live one: `Clear-Site-Data` ends its sign-ins, `Strict-Transport-Security` its
plain addresses. Only headers about the one answer pass, and each answer is sandboxed, whatever its
type: browsers run scripts in SVG and XML, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from bbops_server.data_plane.drafts.keys import Headers, as_own

PASSING: Final = frozenset({
    b"accept-ranges", b"age", b"allow", b"cache-control", b"content-disposition",
    b"content-encoding", b"content-language", b"content-length", b"content-range",
    b"content-type", b"etag", b"expires", b"last-modified", b"location", b"retry-after", b"vary",
    b"access-control-allow-credentials", b"access-control-allow-headers",
    b"access-control-allow-methods", b"access-control-allow-origin",
    b"access-control-expose-headers", b"access-control-max-age",
    b"idempotency-replayed", b"ratelimit", b"ratelimit-policy", b"x-release", b"x-request-id",
    b"x-csrf-token", b"x-total-count", b"x-frame-options",
})  # fmt: skip
"""Headers about one answer. Every other one is left out."""

MOST_COOKIES: Final = 20
"""Of one draft, in a browser: it makes room for a new one by forgetting an old one of the host.

Chromium keeps 180, so ten answers that lead on to each other would end every live sign-in.
"""

SANDBOX: Final = b"sandbox allow-forms allow-scripts allow-popups"
"""Of a draft on the live host: the origin of its pages is `null`, and keeps nothing."""

SANDBOX_OF_OWN_HOST: Final = (
    b"sandbox allow-forms allow-scripts allow-popups allow-same-origin allow-modals allow-downloads"
)
"""Of a draft on a host of its own: its pages may keep what they like there."""

_PASSES_AS: Final = {
    b"www-authenticate": re.compile(rb"bearer\b[^,]*", re.IGNORECASE).fullmatch,
    b"referrer-policy": re.compile(rb"no-referrer").fullmatch,
}
"""Headers that pass with these values: a prompt for a password would show the live host's name."""

_ENDS_LINE: Final = re.compile(rb"[\r\n\0]").search
_BROWSERS_PASSWORD: Final = re.compile(rb"(basic|digest|negotiate|ntlm)\b", re.IGNORECASE).match


def guard(headers: Headers, *, is_own_host: bool = False) -> Headers:
    """Return what every answer says that has to do with a draft, behind headers of ours."""
    return [
        *headers,
        (b"content-security-policy", SANDBOX_OF_OWN_HOST if is_own_host else SANDBOX),
        (b"x-content-type-options", b"nosniff"),
        (b"x-robots-tag", b"noindex, nofollow"),
    ]


def keep_passing(headers: Any, prefix: bytes, known: Collection[bytes] = ()) -> Headers:
    """Return the headers of a draft that may leave it, its cookies for `prefix` alone.

    Args:
        known: the names of its cookies that the browser has sent.
    """
    kept, cookies = [], set(known)
    for name, value in ((one[0].lower(), one[1]) for one in headers):
        if _ENDS_LINE(value):
            continue
        if name == b"set-cookie":
            name_of_it = value.partition(b"=")[0].strip()
            if name_of_it in cookies or len(cookies) < MOST_COOKIES:
                cookies.add(name_of_it)
                kept.append((name, as_own(value, prefix)))
        elif name in PASSING or (name in _PASSES_AS and _PASSES_AS[name](value)):
            kept.append((name, value))
    return kept


def drop_passwords(headers: Headers) -> Headers:
    """Return a request's headers without a password that the browser keeps for the live host."""
    return [
        one for one in headers
        if one[0] != b"proxy-authorization"
        and not (one[0] == b"authorization" and _BROWSERS_PASSWORD(one[1]))
    ]  # fmt: skip
