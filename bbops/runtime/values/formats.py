"""Texts with a form of their own: what an email address, a URL and a UUID look like.

Every check is linear in the text and refuses long ones first.
"""

from __future__ import annotations

import re
from datetime import time
from typing import Final
from urllib.parse import urlsplit

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME: Final = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?")
_LOCAL: Final = re.compile(r"[^\s\x00-\x1f\x7f@<>()\[\]\\,;:\"]+")
_LABEL: Final = re.compile(r"[^\W_](?:(?:[^\W_]|-){0,61}[^\W_])?")
_NOT_IN_URLS: Final = re.compile(r"[\s\x00-\x20\x7f<>\"\\^`{|}]")
# RFC 5321 section 4.5.3.1
_MAX_LOCAL: Final = 64
_MAX_EMAIL: Final = 254
_MAX_URL: Final = 8_000


HAS_NUL: Final = "has a NUL character, which the database cannot store"
"""The message of a field with such a text: PostgreSQL stores none, so SQLite does not either."""


def is_sound(text: str) -> bool:
    """Return whether databases and JSON can hold the text: no NUL, no lone surrogate."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_email(text: str) -> bool:
    """Return whether the text is `name@host.domain`; whether it is in use only mail can tell."""
    local, _, host = text.rpartition("@")
    if len(text) > _MAX_EMAIL or len(local) > _MAX_LOCAL or "." not in host:
        return False
    if local.startswith(".") or local.endswith(".") or ".." in local:
        return False
    return bool(_LOCAL.fullmatch(local)) and all(map(_LABEL.fullmatch, host.split(".")))


def is_url(text: str) -> bool:
    """Return whether the text is an absolute http or https URL with a host."""
    if len(text) > _MAX_URL or _NOT_IN_URLS.search(text):
        return False
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises when it is no port
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def parse_uuid(text: str) -> str | None:
    """Return the UUID in its one form, lower case with hyphens, or None."""
    return text.lower() if _UUID.fullmatch(text) else None


def parse_time(text: str) -> str | None:
    """Return the time of day in its one form, HH:MM:SS or HH:MM:SS.ffffff, or None."""
    return time.fromisoformat(text).isoformat() if _TIME.fullmatch(text) else None
