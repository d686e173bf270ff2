"""File descriptors of this process: the limit of connections, and bytes in socket buffers."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import resource
import sys
import termios
from contextlib import suppress
from typing import Final

_MIN_FREE: Final = 64
_MAX_LIMIT: Final = 1 << 17
_MAX_LIMIT_MACOS: Final = 10_240
_WARN_EVERY_SECONDS: Final = 60.0
_log = logging.getLogger(__name__)
_warned_at = -_WARN_EVERY_SECONDS


def max_connections() -> int:
    """Return the most connections, which leaves some descriptors for other files."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit - max(_MIN_FREE, limit >> 3)


def raise_limit() -> None:
    """Raise the limit of descriptors to the permitted one. The server does not use `select`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for maximum in (_MAX_LIMIT, _MAX_LIMIT_MACOS):
        limit = maximum if hard == resource.RLIM_INFINITY else min(hard, maximum)
        if soft == resource.RLIM_INFINITY or soft >= limit:
            return
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return


def warn_once_a_minute(now: float) -> None:
    """Log that clients are rejected, at most once a minute, to keep the log small.

    Args:
        now: the time of a monotonic clock in seconds.
    """
    global _warned_at  # noqa: PLW0603 - descriptors belong to the process
    if now - _warned_at < _WARN_EVERY_SECONDS:
        return
    _warned_at = now
    _log.warning(
        "refusing clients: %d connections are open and file descriptors run out"
        " (raise the limit: 'ulimit -n', or LimitNOFILE of a systemd unit)",
        max_connections(),
    )


def unsent_bytes(transport: asyncio.Transport) -> int:
    """Return the bytes in the kernel's send buffer, which the client has not acknowledged."""
    return _query_kernel(transport, termios.TIOCOUTQ) if sys.platform == "linux" else 0


def unread_bytes(transport: asyncio.Transport) -> int:
    """Return the received bytes in the kernel's buffer."""
    return _query_kernel(transport, termios.FIONREAD)


def _query_kernel(transport: asyncio.Transport, command: int) -> int:
    descriptor = transport.get_extra_info("socket").fileno()
    return int.from_bytes(fcntl.ioctl(descriptor, command, bytes(4)), sys.byteorder)
