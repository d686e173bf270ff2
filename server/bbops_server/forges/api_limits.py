"""The limits of a forge: the pause before the next request.

Source: docs.github.com, "Best practices for using the REST API"; RFC 9110 section 10.2.3.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from bbops.base.host import Clock, HttpRequest, HttpResponse
from bbops.base.render import one_line
from bbops_server.forges.hosted import (
    ForgeAway,
    ForgeConflict,
    ForgeError,
    ForgeForbidden,
    ForgeGone,
    ForgeRejected,
)
from bbops_server.forges.values import RequestBudget

MAX_PAUSE_SECONDS: Final = 3_600.0
SECONDARY_SECONDS: Final = 60.0
"""The first pause after a limit without a time; each further refusal doubles it."""

_LEAST_TIME: Final = 1e9
"""A smaller `reset` is a number of seconds, not a time since 1970."""

_PHRASES: Final = (b"rate limit", b"abuse detection")


class RequestLimits:
    """Stops requests while a forge limits them.

    Attributes:
        left: the number of requests that the forge still accepts in its window; None if unknown.
    """

    def __init__(self, forge: str, clock: Clock) -> None:
        """Start without a pause; `forge` is the host's name for errors."""
        self._forge, self._clock = forge, clock
        self._until: datetime | None = None
        self._refusals = 0
        self.left: int | None = None
        self._limit: int | None = None
        self._reset: datetime | None = None

    def budget(self) -> RequestBudget:
        """Return the requests that are left; unknown again after the end of the window."""
        seconds = (self._reset - self._clock.now()).total_seconds() if self._reset else 0.0
        if self._reset and seconds <= 0:
            return RequestBudget(None, self._limit)
        return RequestBudget(self.left, self._limit, seconds)

    def require_open(self) -> None:
        """Accept a request now. Raises: ForgeAway: the forge requires a pause."""
        seconds = (self._until - self._clock.now()).total_seconds() if self._until else 0.0
        if seconds > 0:
            raise self._limited(seconds)
        self._until = None

    def read(self, response: HttpResponse) -> None:
        """Take the limits of a response. Raises: ForgeAway: the forge refuses the request."""
        headers = response.headers
        left = _number(_header(headers, "remaining"))
        self._read_window(headers)
        is_refused = _is_refused(response)
        if not is_refused:
            self._refusals = 0 if response.status < 400 else self._refusals
            if left != 0:
                return
        seconds = min(max(self._pause(headers, left), 1.0), MAX_PAUSE_SECONDS)
        self._until = self._clock.now() + timedelta(seconds=seconds)
        if is_refused:
            self._refusals += 1
            raise self._limited(seconds)

    def _read_window(self, headers: Mapping[str, str]) -> None:
        """Take the size and the end of the window; `reset` is a time, or seconds in an RFC draft.

        Source: draft-ietf-httpapi-ratelimit-headers; docs.gitlab.com, "Rate limits".
        """
        if headers.get("x-ratelimit-resource", "core") != "core":
            return  # GitHub counts other APIs, such as GraphQL, in windows of their own
        limit, reset = (_number(_header(headers, name)) for name in ("limit", "reset"))
        left = _number(_header(headers, "remaining"))
        self.left = self.left if left is None else int(left)
        self._limit = self._limit if limit is None else int(limit)
        if reset is not None:
            now = self._clock.now().timestamp()
            seconds = reset if reset < _LEAST_TIME else reset - now
            until = min(max(seconds, 0.0), MAX_PAUSE_SECONDS)
            self._reset = self._clock.now() + timedelta(seconds=until)

    def _limited(self, seconds: float) -> ForgeAway:
        message = f"{self._forge} limits requests for {seconds:.0f} s"
        return ForgeAway(message, wait_seconds=seconds)

    def _pause(self, headers: Mapping[str, str], left: float | None) -> float:
        if (after := self._read_after(headers.get("retry-after", ""))) is not None:
            return after
        reset = _number(_header(headers, "reset"))
        if left == 0 and reset is not None:
            return reset - self._clock.now().timestamp()
        return SECONDARY_SECONDS * float(2 ** min(self._refusals, 6))

    def _read_after(self, text: str) -> float | None:
        """Return the seconds of `Retry-After`, a number or a date; None without them."""
        if not text or (seconds := _number(text)) is not None:
            return seconds if text else None
        try:
            return (parsedate_to_datetime(text) - self._clock.now()).total_seconds()
        except (ValueError, TypeError):
            return None


def _is_refused(response: HttpResponse) -> bool:
    """Return whether a limit, or an overloaded forge, refused a request."""
    if response.status == 429:
        return True
    has_time = "retry-after" in response.headers
    if response.status >= 500:
        return has_time
    if response.status != 403:
        return False
    is_used_up = _header(response.headers, "remaining") == "0"
    text = response.body[:10_000].lower()
    return has_time or is_used_up or any(phrase in text for phrase in _PHRASES)


def _header(headers: Mapping[str, str], name: str) -> str:
    return headers.get(f"x-ratelimit-{name}") or headers.get(f"ratelimit-{name}", "")


def _number(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


MAX_ENTRIES: Final = 500
MAX_BYTES: Final = 32 << 20


class ResponseCache:
    """The last used responses with an ETag, by URL."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._responses: OrderedDict[str, HttpResponse] = OrderedDict()
        self._size_bytes = 0

    def __len__(self) -> int:
        return len(self._responses)

    def find(self, url: str) -> HttpResponse | None:
        """Return the response of a URL; None without one."""
        if url in self._responses:
            self._responses.move_to_end(url)
        return self._responses.get(url)

    def keep(self, url: str, response: HttpResponse) -> None:
        """Store a response in place of the last one, if it has an ETag and is not too large."""
        self.drop(url)
        if not response.headers.get("etag") or len(response.body) > self._max_bytes:
            return
        self._responses[url] = response
        self._size_bytes += len(response.body)
        while len(self._responses) > self._max_entries or self._size_bytes > self._max_bytes:
            self.drop(next(iter(self._responses)))

    def drop(self, url: str) -> None:
        """Remove the response of a URL, if there is one."""
        if (response := self._responses.pop(url, None)) is not None:
            self._size_bytes -= len(response.body)


# ---- The errors of a forge's API, in one line and without the credential

MAX_MESSAGE: Final = 300
_CREDENTIALS: Final = ("authorization", "private-token")
_CONFLICTS: Final = frozenset({405, 409, 412, 422})
_KINDS: Final[dict[int, type[ForgeError]]] = {
    401: ForgeRejected, 403: ForgeForbidden, 404: ForgeGone, 410: ForgeGone,
    **dict.fromkeys(_CONFLICTS, ForgeConflict),
}  # fmt: skip


def make_error(request: HttpRequest, response: HttpResponse, right: str) -> ForgeError:
    """Return the error for a response that is not a success.

    Args:
        request: the request.
        response: the forge's response.
        right: the right that the request needs, as the forge calls it.
    """
    where = f"{request.method} {name_path(request.url)}"
    said = read_message(request, response)
    message = f"{where} was answered with {response.status}{': ' if said else ''}{said}"
    return _KINDS.get(response.status, ForgeError)(message, hint=_hint(response, right))


def name_path(url: str) -> str:
    """Return the path of a URL for messages, without its query."""
    return "/" + one_line(url.partition("?")[0].partition("://")[2].partition("/")[2])


def read_message(request: HttpRequest, response: HttpResponse) -> str:
    """Return a forge's message, at most `MAX_MESSAGE` characters without the credential."""
    try:
        value = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    text = one_line("; ".join(dict.fromkeys(_texts(value))))
    for secret in _secrets(request):
        text = text.replace(secret, "…")
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"


def _hint(response: HttpResponse, right: str) -> str:
    if response.status == 401:
        return "the credential has expired or was revoked; 'bbops forge connect' stores a new one"
    accepted = response.headers.get("x-accepted-github-permissions", "")
    needed = one_line(accepted[:100]).replace("=", ": ") or right
    if response.status == 403 and needed:
        return f"the credential needs the right '{needed}'"
    return ""


def _texts(value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for name in ("message", "error", "error_description"):
        yield from _flatten(value.get(name))
    details = value.get("errors")
    yield from _details(details if isinstance(details, list) else ())


def _flatten(value: Any) -> Iterator[str]:
    """Yield a text, the texts of a list, or the keys of an object with their texts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (text for text in value if isinstance(text, str))
    elif isinstance(value, dict):
        yield from (f"{key} {text}" for key in value for text in _flatten(value[key]))


def _details(details: Iterable[Any]) -> Iterator[str]:
    for detail in details:
        if isinstance(detail, str):
            yield detail
        elif isinstance(detail, dict):
            text = detail.get("message")
            parts = (detail.get("field"), detail.get("code"))
            yield text if isinstance(text, str) else " ".join(filter(None, map(_text, parts)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _secrets(request: HttpRequest) -> Iterator[str]:
    for name in _CREDENTIALS:
        if words := request.headers.get(name, "").split():
            yield words[-1]
