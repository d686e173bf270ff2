"""Texts with a form: email addresses, URLs, UUIDs, dates and times, and the faults of bad JSON.

Checks are linear in the text and refuse long ones first. UUIDs, dates and times have a normal form
for writes and comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import time
from typing import Any, Final
from urllib.parse import urlsplit

from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.times import parse_date
from bbops.runtime.values.values import kind

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


def _parse_date(text: str) -> str | None:
    found = parse_date(text)
    return None if found is None else found.isoformat()


PARSERS: Final[dict[str, Callable[[str], str | None]]] = {
    "uuid": parse_uuid, "time": parse_time, "date": _parse_date,
}  # fmt: skip
"""By column type: returns the normal form of a text, or None for a text of another type."""
EXAMPLES: Final = {
    "uuid": "a uuid", "time": "a time such as 08:30", "date": "a date such as 2026-03-05",
}  # fmt: skip
"""How messages name a value of each type."""


def formed(value: Any, form: str, field: str = "") -> Any:
    """Return a text in the normal form of a type; other kinds stay as they are.

    Args:
        value: may be null.
        form: the type: `uuid`, `time` or `date`.
        field: of the request, which gave the value; empty where it is not known.

    Raises:
        BadValue: the text is not of that type.
    """
    if type(value) is not str:
        return value
    found = PARSERS[form](value)
    if found is None:
        raise _unfit(value, form, field)
    return found


def formed_list(values: Any, form: str, field: str = "") -> Any:
    """Return a list whose texts are in the normal form of a type; raises as `formed`."""
    if type(values) is not list:
        return values
    return [formed(value, form, field) for value in values]


def bound(value: Any, form: str, field: str = "") -> str | None:
    """Return a text or null as a parameter beside a column of that type.

    Raises:
        BadValue: it is something else.
    """
    found = formed(value, form, field)
    if found is None or type(found) is str:
        return found
    raise _unfit(value, form, field)


def bound_list(values: Any, form: str, field: str = "") -> list[str | None]:
    """Return a list of texts as a parameter beside a column of that type.

    Raises:
        BadValue: it is not a list, or one of its members is something else.
    """
    if type(values) is not list:
        raise BadValue(f"'in' needs a list, got {kind(values)}", field, "must be a list")
    return [bound(value, form, field) for value in values]


def _unfit(value: Any, form: str, field: str) -> BadValue:
    wanted = EXAMPLES[form]
    found = "another text" if type(value) is str else kind(value)
    return BadValue(f"expected {wanted}, found {found}", field, f"must be {wanted}")


_ESCAPE: Final = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_MOST_FAULT: Final = 120


def name_json_fault(body: bytes, error: Exception) -> str:
    """Return why a body is not JSON, such as "it is not UTF-8: byte 3 does not belong there".

    Args:
        body: what could not be decoded; O(its length).
        error: of the decoder, whose words stand for faults that are not known here.
    """
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16, expected UTF-8"
    if body.startswith(b"\xef\xbb\xbf"):
        return "it begins with a byte order mark (U+FEFF)"
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        return f"it is not UTF-8: byte {wrong.start + 1} does not belong there"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if (at := _find_lone_surrogate(body)) is not None:
        escape = body[at : at + 6].decode()
        return (
            f"'{escape}' at byte {at + 1} is half of a character: a surrogate without its other"
            " half, as when a text is cut inside an emoji"
        )
    words = str(error)
    if "truncated" in words:
        return "it ends too early"
    if "out of range" in words:
        return "a number is out of range"
    return words.removeprefix("JSON is malformed: ")[:_MOST_FAULT]


def _find_lone_surrogate(body: bytes) -> int | None:
    """Return where the first escape of half a character is; None without one."""
    high: int | None = None
    end = -1
    for found in _ESCAPE.finditer(body):
        unit = int(found[1], 16) if found[1] else 0
        is_low = 0xDC00 <= unit <= 0xDFFF
        is_pair = high is not None and is_low and found.start() == end
        if high is not None and not is_pair:
            return high
        if is_low and not is_pair:
            return found.start()
        high = found.start() if 0xD800 <= unit <= 0xDBFF else None
        end = found.end()
    return high
