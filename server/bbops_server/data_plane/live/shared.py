"""Memory that the parent makes and the data processes share, for what is counted in common."""

from __future__ import annotations

import mmap
import os
import secrets
import sys
import tempfile

from bbops.runtime.http.rate_limits import SharedCounters, size_bytes

_SALT_BYTES = 64


class Shared:
    """The parent's side: a file without a name, gone with the last process that has it open."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self.descriptor = _open_nameless()
        os.truncate(self.descriptor, size_bytes(lanes))
        os.pwrite(self.descriptor, secrets.token_bytes(_SALT_BYTES), 0)

    def words(self, lane: int) -> tuple[str, ...]:
        """Return what a child must hear besides the descriptor, see `join`."""
        return str(lane), str(self._lanes)

    def close(self) -> None:
        """Let go of it; the children keep it."""
        os.close(self.descriptor)


def join(descriptor: int, lane: int, lanes: int) -> SharedCounters:
    """Return this process's lane of the memory it inherited."""
    memory = mmap.mmap(descriptor, 0)
    os.close(descriptor)
    return SharedCounters(memoryview(memory), lane, lanes)


def _open_nameless() -> int:
    if sys.platform == "linux":
        return os.memfd_create("bbops-shared")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
