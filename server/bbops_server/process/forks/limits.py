"""What a process that runs code nobody has reviewed may use. The figures are all in this table.

The limits of the system need no rights. Memory is bounded where Linux counts it; elsewhere the
parent's look at the process is the bound.
"""

from __future__ import annotations

import os
import resource
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one process may use.

    Attributes:
        memory_bytes: that it may write; above, Python raises MemoryError.
        file_bytes: the largest file.
        nice: how far it stands back, 19 at most.
        session_nice: how far all of its kind together do, where Linux divides by sessions.
        files: open at a time, sockets too.
        cpu_seconds: altogether; None for a process that lives on.
        thread_stack_bytes: they count as memory.
    """

    memory_bytes: int
    file_bytes: int
    nice: int
    session_nice: int
    files: int = 256
    cpu_seconds: int | None = None
    thread_stack_bytes: int = _MIB


DRAFT: Final = Limits(memory_bytes=256 * _MIB, file_bytes=192 * _MIB, nice=19, session_nice=19)
TRIAL: Final = Limits(
    memory_bytes=512 * _MIB,
    file_bytes=192 * _MIB,
    nice=10,
    session_nice=5,
    files=512,
    cpu_seconds=240,
)
"""Of one run of a project's tests: a publication waits for them."""

DRAFT_BUILD: Final = Limits(
    memory_bytes=1024 * _MIB,
    file_bytes=192 * _MIB,
    nice=10,
    session_nice=10,
)
"""Of the process that builds and migrates drafts, one after the other."""
DRAFT_BUILD_SECONDS: Final = 30.0
"""What one draft may take for one step of its way, such as its tables."""

DRAFT_DATABASE_BYTES: Final = 128 * _MIB
DRAFT_UPLOADS_BYTES: Final = 64 * _MIB
"""Of the files of all runs under way."""
DRAFT_FILES_BYTES: Final = 128 * _MIB
DRAFT_FILES: Final = 10_000
"""Of what the addon localStorage keeps."""
DRAFT_HISTORY_BYTES: Final = 32 * _MIB
DRAFT_FOLDER_BYTES: Final = 512 * _MIB
"""Of everything that lies in a draft's folder; above it the process is ended."""
DRAFT_LOG_BYTES: Final = 256 << 10
"""Of lines of the server's log, each minute."""

MOST_MEMORY_BYTES: Final = 2 * DRAFT.memory_bytes
"""Resident, with what is shared: a process above it is ended."""
CPU_SHARE: Final = 0.5
"""Of a core, on average over `CPU_WINDOW_SECONDS`: above it, new requests are answered 429."""
CPU_WINDOW_SECONDS: Final = 30.0
SILENCE_SECONDS: Final = 10.0
"""A process that does not answer for so long is ended, unless others keep it from that."""
ENOUGH_SECONDS: Final = 1.0
"""Of the processor, in which a process that does not hang would have answered."""
LONGEST_WAIT_SECONDS: Final = 60.0
"""However busy the machine is, a process that says nothing for so long is ended."""
MOST_REQUESTS: Final = 64
"""Requests to one draft that are under way at a time in one data process; more are answered 429."""
MOST_DEATHS: Final = 3
"""Of one commit; then the draft is told as failed."""
BACKOFF_SECONDS: Final = (0.0, 1.0, 5.0)
"""Before a process takes the place of one that ended, by how many have."""


def apply(limits: Limits) -> None:
    """Bind this process, and what it starts, for good."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind, most in (
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
    ):
        if most is not None:
            with suppress(OSError, ValueError):  # a lower one is there already
                resource.setrlimit(kind, (most, most))
    threading.stack_size(limits.thread_stack_bytes)
    os.setpriority(os.PRIO_PROCESS, 0, limits.nice)
    with suppress(OSError):
        # the first to go where the machine has no memory left
        Path("/proc/self/oom_score_adj").write_text("1000")
