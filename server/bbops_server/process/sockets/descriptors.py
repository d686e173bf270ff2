"""File descriptors of this process: how many connections they are for, and what these hold."""

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
    """Return for how many connections there are descriptors, with some left for everything else."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most - max(_MIN_FREE, most >> 3)


def raise_limit() -> None:
    """Let this process open as many descriptors as it may; nothing here uses `select`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in (_MAX_LIMIT, _MAX_LIMIT_MACOS):
        wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return


def warn_once_a_minute(now: float) -> None:
    """Log that clients are refused, once a minute: a line for each would fill the disk as well.

    Args:
        now: seconds of a monotonic clock.
    """
    global _warned_at  # noqa: PLW0603 - of the process, as its descriptors are
    if now - _warned_at < _WARN_EVERY_SECONDS:
        return
    _warned_at = now
    _log.warning(
        "refusing clients: %d connections are open and file descriptors run out"
        " (raise the limit: 'ulimit -n', or LimitNOFILE of a systemd unit)",
        max_connections(),
    )


def unsent_bytes(transport: asyncio.Transport) -> int:
    """Return the bytes that the client's machine has not taken: its kernel fills before ours."""
    return _ask_kernel(transport, termios.TIOCOUTQ) if sys.platform == "linux" else 0


def unread_bytes(transport: asyncio.Transport) -> int:
    """Return the bytes that have arrived and that nobody has read."""
    return _ask_kernel(transport, termios.FIONREAD)


def _ask_kernel(transport: asyncio.Transport, what: int) -> int:
    descriptor = transport.get_extra_info("socket").fileno()
    return int.from_bytes(fcntl.ioctl(descriptor, what, bytes(4)), sys.byteorder)
