"""Responses of a forge that a conditional request can confirm."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from bbops.base.host import HttpResponse

MAX_ENTRIES: Final = 500
MAX_BYTES: Final = 32 << 20


class ResponseCache:
    """The last used responses with an ETag, by URL."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._responses: OrderedDict[str, HttpResponse] = OrderedDict()
        self._size_bytes = 0

    def __len__(self) -> int:
        return len(self._responses)

    def find(self, url: str) -> HttpResponse | None:
        """Return the response of a URL; None without one."""
        if url in self._responses:
            self._responses.move_to_end(url)
        return self._responses.get(url)

    def keep(self, url: str, response: HttpResponse) -> None:
        """Store a response in place of the last one, if it has an ETag and is not too large."""
        self.drop(url)
        if not response.headers.get("etag") or len(response.body) > self._max_bytes:
            return
        self._responses[url] = response
        self._size_bytes += len(response.body)
        while len(self._responses) > self._max_entries or self._size_bytes > self._max_bytes:
            self.drop(next(iter(self._responses)))

    def drop(self, url: str) -> None:
        """Remove the response of a URL, if there is one."""
        if (response := self._responses.pop(url, None)) is not None:
            self._size_bytes -= len(response.body)
