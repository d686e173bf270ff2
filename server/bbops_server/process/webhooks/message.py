"""One message to another server, signed as "Standard Webhooks" says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from bbops.base.errors import ServerError
from bbops.runtime.work.signature_schemes import MIN_KEY_BYTES, headers, read_key


class HookMessage(msgspec.Struct, frozen=True):
    """What is sent, and how often that was tried.

    Attributes:
        id: of the message, the same at each try: whoever gets it twice knows by that.
        body: JSON of `type`, `timestamp` and `data`, as it is signed.
        at: when it happened.
        tries: those that have failed.
    """

    id: str
    body: str
    at: datetime
    tries: int = 0


def write_body(event: str, at: datetime, data: Mapping[str, Any]) -> str:
    """Return the body of a message."""
    return msgspec.json.encode({"type": event, "timestamp": at, "data": data}).decode()


def read_secret(text: str) -> bytes:
    """Return the key that a secret stands for: base64, with or without `whsec_` before it.

    Raises:
        ServerError: it is no such text, or too short to be one.
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


def sign(message: HookMessage, at: datetime, key: bytes) -> dict[str, str]:
    """Return the headers of a try."""
    return headers(key, message.id, int(at.timestamp()), message.body.encode())
