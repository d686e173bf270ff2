"""The log of a draft: it must not fill the disk that the server's log lies on."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any, Final

from bbops.base.host import Log
from bbops_server.process.host.log import render

_WINDOW_SECONDS: Final = 60.0


class BoundedLog:
    """The door `bbops.base.host.Log`, with so many bytes a minute; what is above is left out."""

    def __init__(self, log: Log, most_bytes: int) -> None:
        self._log, self._most = log, most_bytes
        self._began, self._used, self._left_out = 0.0, 0, 0

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """Write one line, if there is room for it."""
        now = monotonic()
        if now - self._began > _WINDOW_SECONDS:
            left_out, self._began, self._used, self._left_out = self._left_out, now, 0, 0
            if left_out:
                self._log.write("warning", f"{left_out} lines of a draft were left out", {})
        self._used += len(render({"message": message, **data}))
        if self._used <= self._most:
            self._log.write(level, message, data)
        else:
            self._left_out += 1
