"""The recorded requests that can be sent again, and their new form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from bbops.runtime.flow.masking import MASK
from bbops.runtime.http.exchanges import TOO_LONG

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})

_NOT_SENT: Final = frozenset({
    "accept-encoding", "connection", "content-length", "expect", "host", "if-none-match",
    "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "x-forwarded-for",
    "x-forwarded-proto",
})  # fmt: skip
"""Headers of one connection, and headers that suppress the response."""
_NOT_MODIFIED: Final = 304
_MOST_TARGET: Final = 32 << 10
_NEEDED: Final = frozenset({"authorization", "cookie", "x-api-key"})
"""Headers that change the meaning of a request."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request of the history, and its response.

    Attributes:
        method: the method.
        target: the path and query as they are sent.
        headers: the request's headers, without headers of its connection and without secrets.
        body: the request's body.
        status: the status of the response.
        output: the response without its secrets; cut off if it ends with TOO_LONG.
        digest: the hash of the original response, see `bbops.runtime.http.exchanges`.
        obstacle: why it cannot be sent again; empty if it can.
        route: the route that answered it, as in its endpoint.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: str
    status: int
    output: str
    digest: str
    obstacle: str = ""
    route: str = ""


def choose(
    requests: Iterable[Mapping[str, Any]], given: Mapping[str, str], *, writes: bool
) -> Iterator[Recorded]:  # fmt: skip
    """Yield the requests to send again, the newest of equal ones, in their original order.

    Args:
        requests: the requests of the history, oldest first.
        given: headers that the user adds, names in lower case.
        writes: whether to include requests that change data.
    """
    newest: dict[tuple[str, str, str], Recorded] = {}
    for request in requests:
        if request.get("exchange") and (writes or request["method"] in SAFE_METHODS):
            found = _read(request, given)
            key = found.method, found.target, found.body
            newest.pop(key, None)
            newest[key] = found
    yield from newest.values()


def _read(request: Mapping[str, Any], given: Mapping[str, str]) -> Recorded:
    exchange = request["exchange"]
    query = urlencode([tuple(pair) for pair in exchange["query"]])
    target = quote(request["path"], safe="/:@!$&'()*+,;=~-._")
    headers = {
        name: value
        for name, value in exchange["headers"].items()
        if name not in _NOT_SENT and MASK not in value
    }
    return Recorded(
        request["method"], f"{target}?{query}" if query else target, {**headers, **given},
        exchange["input"], request["status"], exchange["output"], exchange["digest"],
        _obstacle(request, given) or _length(target, query), request.get("route", ""),
    )  # fmt: skip


def _length(target: str, query: str) -> str:
    is_long = len(target) + len(query) > _MOST_TARGET
    return "its address is too long" if is_long else ""


def _obstacle(request: Mapping[str, Any], given: Mapping[str, str]) -> str:
    exchange = request["exchange"]
    if request["status"] == _NOT_MODIFIED:
        return "its response was 304 Not Modified"
    if MASK in request["path"] or any(value == MASK for _, value in exchange["query"]):
        return "its address holds a secret"
    if not _NEEDED.isdisjoint(exchange["headers"]) and _NEEDED.isdisjoint(given):
        return "it was signed in"
    if MASK in exchange["input"]:
        return "its body holds a secret"
    if exchange["input"].endswith(TOO_LONG):
        return "its body is too long to be kept"
    return ""
