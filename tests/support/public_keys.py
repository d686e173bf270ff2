"""Public keys as projects hold them."""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives import serialization


def public(key: Any) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    text: bytes = key.public_key().public_bytes(serialization.Encoding.PEM, form)
    return text.decode()
