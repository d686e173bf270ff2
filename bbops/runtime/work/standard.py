"""Signatures of Standard Webhooks, for what is sent and what is received.

The one place that speaks to the library, which wants a time in UTC and text. Source:
https://github.com/standard-webhooks/standard-webhooks, "Signature scheme".
"""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Final

from standardwebhooks.webhooks import Webhook

SHORTEST_BYTES: Final = 24
"""Of the key of a secret that we sign with; the specification asks for it."""

_PREFIX: Final = "whsec_"


def read_key(secret: str) -> bytes:
    """Return the key that a secret stands for: base64, with or without `whsec_` before it.

    Raises:
        ValueError: it is not base64, or empty.
    """
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("the secret is not base64, with or without 'whsec_' before it")
    return key


def read_sending_key(secret: str) -> bytes:
    """Return the key of a receiver's secret. Raises: ValueError: it is not one, or too short."""
    try:
        key = read_key(secret)
    except ValueError:
        key = b""
    if len(key) < SHORTEST_BYTES:
        raise ValueError(f"the receiver's secret is not base64 of {SHORTEST_BYTES} bytes or more")
    return key


def sign(key: bytes, name: str, at: int, body: bytes) -> str:
    """Return the signature of a message, such as `v1,g0hM9Ss…`. About 25 µs.

    Args:
        key: of `read_key`.
        name: the `webhook-id`.
        at: the `webhook-timestamp`, in seconds since 1970.
        body: as it is sent.

    Raises:
        ValueError: the body is not UTF-8, or there is no such time.
    """
    return Webhook(key).sign(name, datetime.fromtimestamp(at, UTC), body.decode())


def headers(key: bytes, name: str, at: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message that is sent.

    Raises:
        ValueError: as `sign`.
    """
    return {
        "content-type": "application/json", "webhook-id": name, "webhook-timestamp": str(at),
        "webhook-signature": sign(key, name, at, body),
    }  # fmt: skip
