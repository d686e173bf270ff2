"""Lists that are kept in the state folder: read once, written at every change, without secrets."""

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
    """Return what tells a receiver apart, and nothing of the secrets that its address may hold."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def read_list(file: Path, kind: type[T]) -> list[T]:
    """Return what is kept; what is missing or damaged is forgotten."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=list[kind])  # type: ignore[valid-type]
    return []


def write_list(file: Path, found: Sequence[Any]) -> None:
    """Write a list down; where the disk takes nothing, a restart loses it, which is logged."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, msgspec.json.encode(found))
    except OSError as error:
        _log.error("cannot write '%s': %s", file, (error.strerror or "no reason given").lower())
