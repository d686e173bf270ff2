"""Filters that encode and hash; text counts as its UTF-8 bytes."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any, Final

from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.filters._registry import add_filter, need_text, refused
from bbops.runtime.values.values import bounded_text, encode_text, paid

_TO_STANDARD: Final = str.maketrans("-_", "+/")


@add_filter(
    "base64",
    ("'Ada' | base64", "QWRh"),
    takes="text bytes",
    gives="text",
)
def encode_base64(value: Any) -> str:
    """The text or bytes in Base64."""
    return bounded_text(base64.b64encode(_bytes(value, "base64")).decode())


@add_filter(
    "base64Decode",
    ("'QWRh' | base64Decode", "Ada"),
    takes="text",
    gives="text",
)
def decode_base64(value: Any) -> str:
    """The text that is encoded in Base64, in either alphabet, padded or not."""
    found = need_text(value, "base64Decode").rstrip("=").translate(_TO_STANDARD)
    try:
        return paid(base64.b64decode(found + "=" * (-len(found) % 4), validate=True).decode())
    except ValueError:
        raise BadValue("'base64Decode' needs Base64 of a text in UTF-8") from None


@add_filter(
    "sha256",
    (
        "'Ada' | sha256",
        "99a563ab2f6e21e96998f9fddd2a2bab82b70ac019579502b8d7fc0032ff62bb",
    ),
    takes="text bytes",
    gives="text",
)
def sha256(value: Any) -> str:
    """The SHA-256 hash in hex."""
    return hashlib.sha256(_bytes(value, "sha256")).hexdigest()


@add_filter(
    "hmac",
    (
        "'Ada' | hmac('key')",
        "c066342b76c7754f806a2b2f779b085c499fe3e4b9d920f9620c8f10911f6dbe",
    ),
    takes="text bytes",
    gives="text",
)
def sign(value: Any, key: Any) -> str:
    """The HMAC-SHA256 with a key, in hex."""
    return hmac.digest(_bytes(key, "hmac"), _bytes(value, "hmac"), "sha256").hex()


def _bytes(value: Any, name: str) -> bytes:
    if type(value) is bytes:
        return value
    if type(value) is str:
        return encode_text(value)
    raise WrongKind(refused(name, "text", value))
