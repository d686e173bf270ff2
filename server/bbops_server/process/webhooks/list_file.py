"""Lists in files of the state folder: read once, and written at each change, without secrets."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bbops.base.disk import replace_file

T = TypeVar("T")

_log = logging.getLogger(__name__)


def hash_url(url: str) -> str:
    """Return a hash that identifies a receiver without exposing secrets in its URL."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def read_list(file: Path, kind: type[T]) -> list[T]:
    """Read a list; empty if the file is missing or damaged."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=list[kind])  # type: ignore[valid-type]
    return []


def write_list(file: Path, items: Sequence[Any]) -> None:
    """Write a list. If the disk is full, the error is logged, and a restart loses the list."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, msgspec.json.encode(items))
    except OSError as error:
        _log.error("cannot write '%s': %s", file, (error.strerror or "no reason given").lower())
