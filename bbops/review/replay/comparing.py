"""Compare a response with the recorded one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from bbops.review.replay.recorded import Recorded
from bbops.runtime.flow.masking import MASK, mask_text, mask_value
from bbops.runtime.http.exchanges import MOST_READ_BYTES, TOO_LONG

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
