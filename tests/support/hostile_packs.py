"""Packs that no git would write: https://git-scm.com/docs/pack-format."""

from __future__ import annotations

import hashlib
import struct
import zlib

_COPIED = 0xFFFF
_BLOB, _DELTA = 3, 7


def make_delta_bomb(size: int) -> bytes:
    """Return a pack of a small blob, and of a delta that makes about `size` bytes of it."""
    base, times = bytes(_COPIED), size // _COPIED
    copy = b"\xb0\xff\xff"  # from the start, as many as two bytes say
    delta = _length(_COPIED) + _length(_COPIED * times) + copy * times
    name = hashlib.sha1(b"blob %d\0" % _COPIED + base, usedforsecurity=False).digest()
    objects = _object(_BLOB, base) + _object(_DELTA, delta, name)
    pack = b"PACK" + struct.pack(">II", 2, 2) + objects
    return pack + hashlib.sha1(pack, usedforsecurity=False).digest()


def _object(kind: int, data: bytes, base: bytes = b"") -> bytes:
    head, rest = [kind << 4 | len(data) & 15], len(data) >> 4
    while rest:
        head[-1] |= 0x80
        head.append(rest & 0x7F)
        rest >>= 7
    return bytes(head) + base + zlib.compress(data, 9)


def _length(number: int) -> bytes:
    parts = [number & 0x7F]
    while number := number >> 7:
        parts[-1] |= 0x80
        parts.append(number & 0x7F)
    return bytes(parts)
