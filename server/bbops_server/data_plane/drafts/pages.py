"""Pages of a draft: its frontend, and what its answers may not change.

A page of a draft is sandboxed, so browsers send no cookie with what it asks for: its scripts, its
styles and the API. It is opened at `/~as/KEY/` below the draft, and what it asks for relatively is
let in by the key, which opens nothing else and ends with the visit.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterator
from html import escape
from typing import Any, Final

import msgspec

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.data_plane.drafts.keys import PREFIX, Headers, as_own, find_mark, make_token
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.pages.frontend import wants_page
from bbops_server.data_plane.pages.start_page import render_links, render_page, send_page
from bbops_server.process.messages.drafts import DraftPlace

MARK: Final = "/~as/"
LASTS_SECONDS: Final = 12 * 3600
MOST_ERRORS: Final = 20
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, *"),
    (b"access-control-max-age", b"600"),
)


def address_of(key: bytes, path: str, now: float, mark: str) -> str:
    """Return the path, below the draft, that shows what `path` does to a person."""
    return f"{MARK}{make_token(_own(key), now + LASTS_SECONDS, mark)[len(PREFIX) :]}{path}"


def find_end(path: str, key: bytes, now: float) -> tuple[int, str | None]:
    """Return where the key of an address ends in its path, and the mark of who has opened it.

    0 and None where it has none that is good.
    """
    if not path.startswith(MARK):
        return 0, None
    end = path.find("/", len(MARK))
    mark = find_mark(PREFIX + path[len(MARK) : end], _own(key), now) if end > 0 else None
    return (0, None) if mark is None else (end, mark)


def is_of_frontend(scope: Any, live: Live) -> bool:
    """Return whether a browser opens a page that no route answers."""
    release = live.release
    if release is None or release.beside is None or not wants_page(scope):
        return False
    return release.table.match("GET", scope["path"])[0] is None


async def show_way_in(scope: Any, send: Any, place: DraftPlace) -> None:
    """Show who has no token how to come in."""
    parts = [
        "<p>Members of the project open it in the control plane, under Drafts.</p>",
        render_links([("Control plane", place.control_url)]),
        "<p>Programs send a token, which <code>bbops drafts token</code> makes.</p>",
    ]
    await send_page(scope, send, 401, render_page("This is a draft", parts).encode())


class _Refusal(msgspec.Struct):
    message: str
    diagnostics: list[JsonDiagnostic] = []


async def show_refusal(scope: Any, send: Any, place: DraftPlace, refusal: bytes) -> None:
    """Show a member the errors of a draft, with their fixes; `refusal` is the response to programs.

    The page has at most MOST_ERRORS.
    """
    refused = msgspec.json.decode(refusal, type=dict[str, _Refusal])["error"]
    errors = [error for error in refused.diagnostics if error.severity == "error"]
    parts = [part for error in errors[:MOST_ERRORS] for part in _show_error(error)]
    if len(errors) > MOST_ERRORS:
        parts.append(f"<p>{len(errors) - MOST_ERRORS} more errors</p>")
    parts = parts or [f"<p><code>{escape(refused.message)}</code></p>"]
    title = f"Draft {place.branch} does not answer"
    links = render_links([("The draft in the control plane", place.page_url)])
    await send_page(scope, send, 503, render_page(title, [*parts, links]).encode())


def _show_error(error: JsonDiagnostic) -> Iterator[str]:
    """Yield the HTML of an error and its fix."""
    yield f"<p><code>{escape(error.line_of_text())}</code></p>"
    if error.hint:
        yield f'<p class="soft">{escape(error.hint)}</p>'


def opening(send: Any) -> Any:
    """Return a `send` that lets a sandboxed page, whose origin is `null`, read each answer."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            kept = [one for one in message["headers"] if not one[0].startswith(b"access-control-")]
            more = [(b"access-control-allow-origin", b"*"), (b"referrer-policy", b"no-referrer")]
            message = {**message, "headers": [*kept, *more]}
        await send(message)

    return sending


async def answer_preflight(send: Any) -> None:
    """Let a sandboxed page send what it likes: nothing that the browser keeps comes along."""
    await send({"type": "http.response.start", "status": 204, "headers": list(_PREFLIGHT)})
    await send({"type": "http.response.body", "body": b""})


def _own(key: bytes) -> bytes:
    """Return a key for addresses alone: what they show is no token of the header or the cookie."""
    return hmac.digest(key, b"address", "sha256")


# ---- Keep an answer of a draft to itself: it must not change what browsers do with live pages
# A draft may answer on the origin of the live project, so a header that speaks of a whole origin
# would speak of the live one: `Clear-Site-Data` ends its sign-ins, `Strict-Transport-Security` its
# plain addresses. Only headers about the one answer pass, and each answer is sandboxed, whatever
# its type: browsers run scripts in SVG and XML, too.

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
"""The policy of a draft on the live host: its pages have the origin `null` and no storage."""

SANDBOX_OF_OWN_HOST: Final = (
    b"sandbox allow-forms allow-scripts allow-popups allow-same-origin allow-modals allow-downloads"
)
"""The policy of a draft on its own host: its pages have the storage of that host."""

_PASSES_AS: Final = {
    b"www-authenticate": re.compile(rb"bearer\b[^,]*", re.IGNORECASE).fullmatch,
    b"referrer-policy": re.compile(rb"no-referrer").fullmatch,
}
"""Headers that pass with these values: a prompt for a password would show the live host's name."""

_ENDS_LINE: Final = re.compile(rb"[\r\n\0]").search
_BROWSERS_PASSWORD: Final = re.compile(rb"(basic|digest|negotiate|ntlm)\b", re.IGNORECASE).match


def guard(headers: Headers, *, is_own_host: bool = False) -> Headers:
    """Return headers with the policies of every answer about a draft behind them."""
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
