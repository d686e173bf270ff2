"""What schemes of signatures have in common: what they are given, what they find, comparisons."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.runtime.values.failures import NOTHING

Headers = Mapping[str, str]

MOST_HEADER: Final = 2_000
"""Characters of a header that is looked at."""


@dataclass(frozen=True, slots=True)
class Given:
    """A delivery as it came, and what may have signed it.

    Attributes:
        headers: by their names in lower case; one that came twice is not among them.
        secrets: any of them is good, while one takes the place of another; of services with a key
            pair, their public keys.
        url: the project's public address and path, with the query of the request.
    """

    headers: Headers
    body: bytes
    secrets: Sequence[str]
    header: str
    url: str

    def text(self, name: str) -> str:
        """Return a header that may be long; empty without one."""
        return self.headers.get(name, "")[:MOST_HEADER]


@dataclass(frozen=True, slots=True)
class Found:
    """A good signature: when it was made, and what the service calls the delivery."""

    at: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What becomes of a delivery: what its function is given, as JSON, and the answer.

    Attributes:
        is_handshake: the service only asks whether somebody is there; nothing runs.
    """

    payload: str
    status: int
    value: Any = NOTHING
    is_handshake: bool = False


def is_one(given: str, right: str) -> bool:
    """Return whether two texts are equal, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def read_moment(texts: Sequence[str], *, longest: int = 12) -> int | None:
    """Return a time, written as a whole number and once."""
    text = texts[0] if len(texts) == 1 else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= longest else None


def read_map(body: bytes) -> dict[str, Any]:
    """Return the JSON map of a body; empty for anything else."""
    found = read_json(body)
    return found if type(found) is dict else {}


def read_json(body: bytes) -> Any:
    """Return the JSON of a body; None for anything else."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
