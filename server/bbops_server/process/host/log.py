"""The log: one JSON object per line on stderr."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from bbops_server.process.host.system import SystemClock

_encode = msgspec.json.Encoder(enc_hook=repr).encode


class JsonLog:
    """Implements `bbops.base.host.Log`. A line that cannot be written does not fail a request."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = stream or sys.stderr.buffer
        self._clock = SystemClock()

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """Write a line: time, level, message, then `data`, which cannot replace these three."""
        head = {"time": self._clock.now(), "level": level, "message": message}
        line = render({**head, **data, **head})
        with suppress(OSError, ValueError):  # the reader of the log has ended
            self._stream.write(line + b"\n")
            self._stream.flush()


def render(line: Mapping[str, Any]) -> bytes:
    """Return a line as JSON. Values that JSON does not support become text."""
    try:
        return _encode(line)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return _encode({name: _plain(value) for name, value in line.items()})


def _plain(value: Any) -> str:
    try:
        return str(value).encode("utf-8", "backslashreplace").decode()
    except RecursionError:
        return f"a {type(value).__name__} nested too deeply"


class LogHandler(logging.Handler):
    """Writes the log records of libraries in the same format."""

    def __init__(self, log: JsonLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, with its traceback in `trace`."""
        data = {"logger": record.name}
        if record.exc_info:
            data["trace"] = logging.Formatter().formatException(record.exc_info)
        self._log.write(record.levelname.lower(), record.getMessage(), data)


def start_logging() -> JsonLog:
    """Send the warnings and errors of this process to stderr as JSON lines."""
    log = JsonLog()
    logging.basicConfig(handlers=[LogHandler(log)], level=logging.WARNING, force=True)
    return log
