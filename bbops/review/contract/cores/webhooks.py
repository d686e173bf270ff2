"""The part of a client in Python that verifies webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

# ---- the rest is only in clients of projects with webhooks
_TOLERANCE_SECONDS = 300


class WebhookError(Exception):
    """A message that the project did not sign, or signed too long ago."""


def _verified(secret: str | Sequence[str], headers: Mapping[str, str], body: bytes | str) -> Any:
    """Return a message whose signature fits one of the secrets, as Standard Webhooks says."""
    found = {name.lower(): value for name, value in headers.items()}
    one_id, at = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    if not one_id or not (at.isascii() and at.isdigit() and len(at) <= 12):
        raise WebhookError("a header is missing")
    if abs(time.time() - int(at)) > _TOLERANCE_SECONDS:  # noqa: TID251 - a client's own clock
        raise WebhookError("it was signed too long ago")
    raw = body.encode() if isinstance(body, str) else body
    given = found.get("webhook-signature", "").split(" ")[:10]
    for each in [secret] if isinstance(secret, str) else secret:
        try:
            key = base64.b64decode(each.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            raise WebhookError("a secret is not base64") from None
        digest = hmac.digest(key, f"{one_id}.{at}.".encode() + raw, hashlib.sha256)
        wanted = b"v1," + base64.b64encode(digest)
        if any(hmac.compare_digest(wanted, signature.encode()) for signature in given):
            return json.loads(raw)
    raise WebhookError("the signature does not fit")
