"""Which part of a file somebody asks for: one range of bytes. Source: RFC 9110, section 14."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_ONE: Final = re.compile(rb"bytes=([0-9]{0,18})-([0-9]{0,18})").fullmatch


@dataclass(frozen=True, slots=True)
class Range:
    """From `first` to `last`, both included; one that begins behind the end `is_beyond` it."""

    first: int
    last: int
    is_beyond: bool = False

    @property
    def size_bytes(self) -> int:
        """How many bytes that are."""
        return self.last - self.first + 1


def read_range(headers: Mapping[bytes, bytes], size: int, etag: bytes) -> Range | None:
    """Return what `range` asks for; None for all of it: several ranges are answered with that."""
    found = _ONE(headers.get(b"range", b"").replace(b" ", b""))
    if found is None or headers.get(b"if-range", etag) != etag:
        return None
    first, last = found[1], found[2]
    if not first:
        wanted = int(last or 0)
        return Range(max(0, size - wanted), size - 1, is_beyond=not wanted or not size)
    begin, end = int(first), min(int(last), size - 1) if last else size - 1
    if last and int(last) < begin:
        return None
    return Range(begin, end, is_beyond=begin >= size)
