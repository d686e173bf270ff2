"""A message to another server, signed by the specification Standard Webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from bbops.base.errors import ServerError
from bbops.base.host import HttpRequest
from bbops.runtime.work.signature_schemes import MIN_KEY_BYTES, read_key, signed_request


class HookMessage(msgspec.Struct, frozen=True):
    """A message and the number of its failed attempts.

    Attributes:
        id: equal in each attempt, so that receivers can detect duplicates.
        body: the signed JSON with `type`, `timestamp` and `data`.
        at: the time of the event.
        tries: the number of failed attempts.
    """

    id: str
    body: str
    at: datetime
    tries: int = 0


def write_body(event: str, at: datetime, data: Mapping[str, Any]) -> str:
    """Return the body of a message."""
    return msgspec.json.encode({"type": event, "timestamp": at, "data": data}).decode()


def read_secret(text: str) -> bytes:
    """Decode a secret: base64, with or without the prefix `whsec_`.

    Raises:
        ServerError: the secret is not base64, or too short.
    """
    try:
        key = read_key(text)
    except ValueError:
        key = b""
    if len(key) < MIN_KEY_BYTES:
        raise ServerError(
            f"the secret is not base64 of {MIN_KEY_BYTES} bytes or more",
            hint="'openssl rand -base64 32' makes one",
        )
    return key


def make_request(message: HookMessage, url: str, at: datetime, key: bytes) -> HttpRequest:
    """Return the signed request of an attempt."""
    return signed_request(url, key, message.id, int(at.timestamp()), message.body.encode())
