"""Tell what a file is by its first bytes, where they say it."""

from __future__ import annotations

from typing import Final

import puremagic

HEAD_BYTES: Final = 4_096
"""How much of a file is looked at."""
UNKNOWN: Final = "application/octet-stream"

_SAME: Final = {
    "audio/wave": "audio/wav", "audio/x-wav": "audio/wav", "audio/vnd.wave": "audio/wav",
    "application/x-gzip": "application/gzip", "image/heic": "image/heif", "image/jpg": "image/jpeg",
    "application/x-zip-compressed": "application/zip", "application/x-pdf": "application/pdf",
    "image/vnd.microsoft.icon": "image/x-icon", "audio/mp3": "audio/mpeg",
    "video/x-m4v": "video/mp4", "text/xml": "application/xml",
}  # fmt: skip
_SHOWS: Final = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip")
"""Types whose files begin as no others do: one that does not is none of them."""


def content_type(head: bytes, declared: str) -> str:
    """Return the type of a file: what its bytes say, else what its sender says.

    Where they contradict each other the bytes count; what should show its type, and does not, is
    UNKNOWN. Cost: 0.2 ms.

    Args:
        head: its first HEAD_BYTES.
        declared: the sender's word, empty without one.
    """
    declared = declared or UNKNOWN
    if not head or (declared.startswith("text/") and _is_text(head)):
        return declared
    found = _matches(head)
    if _plain(declared) in {_plain(one) for one in found}:
        return declared
    if found:
        return found[0]
    return UNKNOWN if declared.startswith(_SHOWS) and not declared.endswith("+xml") else declared


def is_allowed(found: str, types: tuple[str, ...]) -> bool:
    """Return whether a type is one of those that are listed; `image/*` lists every image."""
    return not types or any(
        found.startswith(one[:-1]) if one.endswith("/*") else _plain(found) == _plain(one)
        for one in types
    )


def _matches(head: bytes) -> list[str]:
    try:
        found = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return []
    return [one.mime_type for one in found if "/" in one.mime_type]


def _plain(name: str) -> str:
    return _SAME.get(name, name)


def _is_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4 and b"\0" not in head  # cut within a character
    return b"\0" not in head
