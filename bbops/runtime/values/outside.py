"""What the answers of other servers mean: when to come back, and how a step fails by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

from bbops.base.host import Http, HttpRequest, HttpResponse
from bbops.runtime.values.failures import HttpFailure

REPEATED_BY_KEY: Final = frozenset({"POST", "PATCH"})
"""Methods that do twice what is sent twice, unless the request has a key."""

MOST_WORDS: Final = 300
LONGEST_SECONDS: Final = 86_400.0


def may_repeat(method: str, headers: Iterable[str]) -> bool:
    """Return whether the same request may be carried out twice."""
    has_key = any(name.lower() == "idempotency-key" for name in headers)
    return method not in REPEATED_BY_KEY or has_key


async def send(http: Http | None, request: HttpRequest, *, repeats: bool) -> HttpResponse:
    """Return the answer to a request, whatever its status.

    Args:
        http: the door; None where nothing outside may be asked.
        repeats: the request may be carried out twice.

    Raises:
        HttpFailure: there is none.
    """
    if http is None:
        raise HttpFailure("httpRefused", "outbound requests are not allowed here")
    try:
        return await http.send(request)
    except HttpFailure as failure:
        failure.repeats = repeats
        raise


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the other server says of its own accord, where it says something.

    Attributes:
        said: its words.
        reason: its code of the error.
        retry_after: the seconds to wait that its body names.
        status: what it means, where it answers every error with 200.
        passes: whether the same again may go well, where that is not seen by the status.
    """

    said: object = ""
    reason: str | None = None
    retry_after: float | None = None
    status: int | None = None
    passes: bool | None = None


def failure_of(
    url: str, answer: HttpResponse, now: datetime, refusal: Refusal, *, repeats: bool
) -> HttpFailure:
    """Return how a step fails by an answer that is not a good one.

    Args:
        url: what was asked.
        answer: what came.
        now: the time, for a date in `retry-after`.
        refusal: what is said in the answer.
        repeats: the request may be carried out twice.
    """
    host, said = urlsplit(url).hostname, refusal.said
    status = refusal.status or answer.status
    words = f": {said[:MOST_WORDS]}" if isinstance(said, str) and said else _moved(url, answer)
    pause = refusal.retry_after
    return HttpFailure(
        "httpFailed", f"'{host}' answered {status}{words}", answered=status,
        reason=refusal.reason, repeats=repeats, passes=refusal.passes,
        retry_after=read_pause(answer.headers, now) if pause is None else _bounded(pause),
    )  # fmt: skip


def _moved(url: str, answer: HttpResponse) -> str:
    """Return where an answer that is a redirect points: the host alone, addresses hold secrets."""
    target = answer.headers.get("location", "")
    if not (300 <= answer.status <= 399 and target):
        return ""
    try:
        host = urlsplit(target).hostname or urlsplit(url).hostname
    except ValueError:
        return ""
    return f": it has moved to '{host}'"


def read_pause(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return for how many seconds an answer asks to wait; None where it does not say.

    Source: RFC 9110 section 10.2.3, and the headers `x-ratelimit-…` of GitHub and others.
    """
    text = headers.get("retry-after", "").strip()
    if text:
        return _bounded(float(text) if _is_number(text) else _until(text, now))
    if headers.get("x-ratelimit-remaining", "").strip() == "0":
        at = headers.get("x-ratelimit-reset", "").strip()
        if _is_number(at):
            return _bounded(float(at) - now.timestamp())
    return None


def _is_number(text: str) -> bool:
    return len(text) <= 20 and text.isascii() and text.replace(".", "", 1).isdigit()


def _until(text: str, now: datetime) -> float | None:
    try:
        at = parsedate_to_datetime(text)
        return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None


def _bounded(seconds: float | None) -> float | None:
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_SECONDS)
