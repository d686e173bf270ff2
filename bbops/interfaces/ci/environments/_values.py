"""Checks for values of environment variables and event files, which are untrusted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?").fullmatch
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,9}").fullmatch
_REPOSITORY: Final = re.compile(
    r"(?!.*(?:^|/)\.\.?(?:/|$))[\w.-]+(?:/[\w.-]+)+", re.ASCII
).fullmatch
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&*+,;=%\[\]-]+").fullmatch
_HEADS: Final = "refs/heads/"
_MAX_LENGTH: Final = 2_000
_ODD: Final = re.compile(r"[\x00\ud800-\udfff]").search
"""Characters that git cannot be given, and halves of characters, which cannot be printed."""


def read_commit(value: object) -> str:
    """Return a whole commit id; empty for other values, and for the id of only zeros."""
    text = text_of(value).lower()
    return text if _COMMIT(text) and text.strip("0") else ""


def read_number(value: object) -> int:
    """Return a positive whole number; 0 for other values."""
    text = str(value) if type(value) is int else text_of(value)
    return int(text) if _NUMBER(text) else 0


def read_repository(value: object) -> str:
    """Return OWNER/NAME; empty for other values."""
    text = text_of(value)
    return text if _REPOSITORY(text) else ""


def read_address(value: object) -> str:
    """Return a URL of http or https without a trailing slash; empty for other values."""
    text = text_of(value)
    return text.rstrip("/") if _ADDRESS(text) else ""


def read_branch(value: object) -> str:
    """Return the name of a branch, without `refs/heads/`; empty for other refs."""
    text = text_of(value)
    return (
        ""
        if text.startswith("refs/") and not text.startswith(_HEADS)
        else text.removeprefix(_HEADS)
    )


def read_path(value: object) -> Path | None:
    """Return a path; None for an empty value."""
    text = text_of(value)
    return Path(text) if text and "\0" not in text else None


def text_of(value: object) -> str:
    """Return a text; empty for others, and for more than 2,000 characters."""
    if not isinstance(value, str) or len(value) > _MAX_LENGTH or _ODD(value):
        return ""
    return value


def read_field(document: object, *path: str) -> Any:
    """Return the value at a path of nested maps; None if a map or key is missing."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document
