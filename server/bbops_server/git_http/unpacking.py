"""Unpack what a git client sends as gzip, within bounds: git itself bounds only what is packed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from bbops_server.git_http.request import Refusal

_PIECE: Final = 1 << 18
_GZIP: Final = zlib.MAX_WBITS | 16


class Unpacking:
    """The body of one request; `most_bytes` of it are taken once it is unpacked."""

    def __init__(self, most_bytes: int) -> None:
        self._gzip, self._most, self._size = zlib.decompressobj(_GZIP), most_bytes, 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what a part of the body holds, in pieces.

        Raises:
            Refusal: it is not gzip, or too much.
        """
        while data:
            try:
                piece = self._gzip.decompress(data, _PIECE)
            except zlib.error:
                raise Refusal(400, "the body is not valid gzip, as Content-Encoding says") from None
            data = self._gzip.unconsumed_tail
            self._size += len(piece)
            if self._size > self._most:
                most = f"{self._most >> 20} MiB"
                raise Refusal(413, f"a request may have at most {most} once it is unpacked")
            yield piece
