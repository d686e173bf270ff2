"""Recorded requests, sent to an API again, and their responses, compared."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

import httpx
import msgspec

from bbops.base.addresses import is_https
from bbops.base.errors import ServerError
from bbops.base.header_values import encode_value
from bbops.review.replay.recorded import Recorded
from bbops.runtime.flow.masking import MASK, mask_text, mask_value
from bbops.runtime.http.exchanges import MOST_READ_BYTES, STREAM, TOO_LONG, join_stream

TIMEOUT_SECONDS: Final = 40.0
WAKING_SECONDS: Final = 60.0
"""The longest wait for a sleeping draft."""


def replay(
    url: str, recorded: Iterable[Recorded], headers: Mapping[str, str],
    *, timeout_seconds: float = TIMEOUT_SECONDS,
) -> Iterator[tuple[Recorded, list[ReplayDifference]]]:  # fmt: skip
    """Yield each request that can be sent, with the differences of its new response.

    Args:
        url: the address of the API; paths are appended.
        recorded: the requests, in this order.
        headers: headers that authenticate the requests.
        timeout_seconds: the limit of each read; only the compared part of a response is read.

    Raises:
        ServerError: the server does not respond.
    """
    given = {"accept-encoding": "identity", **headers}
    with httpx.Client(
        timeout=timeout_seconds, headers=given, trust_env=False, verify=is_https(url)
    ) as client:
        client.headers.pop("accept", None)
        for request in recorded:
            if not request.obstacle:
                yield request, compare(request, _ask(client, url, request))


class Reply(NamedTuple):
    """A response.

    Attributes:
        headers: a name may occur several times.
        body: at most the bytes that were requested.
        is_cut: whether the body is longer, or took too long.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_cut: bool = False


async def send(
    url: str, method: str, headers: Iterable[tuple[str, str]], body: bytes, *,
    timeout_seconds: float = TIMEOUT_SECONDS, max_bytes: int = MOST_READ_BYTES,
) -> Reply:  # fmt: skip
    """Send one request and return its response; a redirect is not followed.

    Args:
        timeout_seconds: for the whole response; what has arrived by then is returned.
        max_bytes: the rest of a longer body is not read.

    Raises:
        ServerError: the server does not respond.
    """
    given = [(b"accept-encoding", b"identity")]
    given += [(name.encode(), encode_value(value)) for name, value in headers]
    read, response, is_cut = bytearray(), None, False
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            httpx.AsyncClient(
                timeout=timeout_seconds, trust_env=False, verify=is_https(url)
            ) as client,
            client.stream(method, url, headers=given, content=body or None) as response,
        ):
            is_cut = await _read_most(response, read, max_bytes)
    except (TimeoutError, httpx.TimeoutException):
        if response is None:
            raise ServerError(f"no response within {timeout_seconds:g} s") from None
        is_cut = True
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ServerError(f"cannot send the request: {type(error).__name__}") from None
    pairs = tuple(response.headers.multi_items())
    return Reply(response.status_code, pairs, bytes(read[:max_bytes]), is_cut)


async def _read_most(response: httpx.Response, read: bytearray, max_bytes: int) -> bool:
    """Read a body, and return whether there is more of it."""
    async for part in response.aiter_raw():
        read += part
        if len(read) > max_bytes:
            return True
    return False


def _ask(client: httpx.Client, url: str, request: Recorded) -> Sent:
    until = time.monotonic() + WAKING_SECONDS
    while True:
        try:
            with client.stream(
                request.method, url.rstrip("/") + request.target, headers=_encode(request.headers),
                content=request.body.encode() or None,
            ) as answer:  # fmt: skip
                body = _read(answer)
        except httpx.RequestError as error:
            reason = str(error) or type(error).__name__
            raise ServerError(f"cannot reach '{url}': {reason}") from None
        is_waking = answer.status_code == httpx.codes.SERVICE_UNAVAILABLE != request.status
        if not (is_waking and "retry-after" in answer.headers and time.monotonic() < until):
            is_stream = answer.headers.get("content-type", "").startswith(STREAM)
            return Sent(answer.status_code, join_stream(body) if is_stream else body)
        time.sleep(1)  # as it asks to by 'retry-after'


def _encode(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): encode_value(value) for name, value in headers.items()}


def _read(answer: httpx.Response) -> bytes:
    """Return the compared part of a response, whose length is unknown."""
    body = bytearray()
    for part in answer.iter_raw():
        body += part
        if len(body) > MOST_READ_BYTES:
            break
    return bytes(body)


# ---- Compare a response with the recorded one

MOST_DIFFERENCES: Final = 20
"""The most reported differences of one response."""
MISSING: Final = "(nothing)"
_MOST_SHOWN: Final = 60

_decode = msgspec.json.Decoder().decode


class ReplayDifference(NamedTuple):
    """The old and the new value at a place of the response; both as text.

    `at` is a JSON pointer (RFC 6901), or `status`; empty for the whole body if it is not JSON.
    """

    at: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Sent:
    """A response as it came."""

    status: int
    body: bytes


def compare(recorded: Recorded, sent: Sent) -> list[ReplayDifference]:
    """Return the differences; a value that was recorded without its secret equals any value."""
    found = []
    if recorded.status != sent.status:
        found.append(ReplayDifference("status", str(recorded.status), str(sent.status)))
    if sha256(sent.body[: MOST_READ_BYTES + 1]).hexdigest()[:16] != recorded.digest:
        found += _bodies(recorded.output, sent.body)
    return found[:MOST_DIFFERENCES]


def _bodies(before: str, now: bytes) -> Iterator[ReplayDifference]:
    if before.endswith(TOO_LONG):
        yield ReplayDifference(
            "", _shown(before), _shown(mask_text(now.decode("utf-8", "replace")))
        )
        return
    try:
        old = _decode(before) if before else MISSING
        new = mask_value(_decode(now)) if now else MISSING
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = mask_text(now.decode("utf-8", "replace"))
        if text != before:
            yield ReplayDifference("", _shown(before), _shown(text))
        return
    yield from _values(old, new, "")


def _values(old: Any, new: Any, at: str) -> Iterator[ReplayDifference]:
    if old == MASK or (old == new and type(old) is type(new)):
        return
    if type(old) is type(new) is dict:
        for name in {**old, **new}:
            part = name.replace("~", "~0").replace("/", "~1")
            yield from _values(old.get(name, MISSING), new.get(name, MISSING), f"{at}/{part}")
    elif type(old) is type(new) is list:
        for place in range(max(len(old), len(new))):
            before, now = (side[place] if place < len(side) else MISSING for side in (old, new))
            yield from _values(before, now, f"{at}/{place}")
    else:
        yield ReplayDifference(at, _shown(old), _shown(new))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + TOO_LONG
