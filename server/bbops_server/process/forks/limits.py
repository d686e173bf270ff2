"""The limits of processes that run unreviewed code, in one table.

The system's limits need no privileges. Linux limits memory; elsewhere the parent polls the memory
of the process.
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
class ProcessLimits:
    """The limits of a process.

    Attributes:
        memory_bytes: writable memory; above it, Python raises MemoryError.
        file_bytes: the size of a file.
        nice: the niceness of the process, at most 19.
        session_nice: the niceness of the session, on Linux with autogroups.
        files: open files and sockets.
        cpu_seconds: CPU time; None without a limit.
        thread_stack_bytes: the stack of a thread, which counts as memory.
    """

    memory_bytes: int
    file_bytes: int
    nice: int
    session_nice: int
    files: int = 256
    cpu_seconds: int | None = None
    thread_stack_bytes: int = _MIB


DRAFT: Final = ProcessLimits(
    memory_bytes=256 * _MIB, file_bytes=192 * _MIB, nice=19, session_nice=19
)
TEST_RUN: Final = ProcessLimits(
    memory_bytes=512 * _MIB,
    file_bytes=192 * _MIB,
    nice=10,
    session_nice=5,
    files=512,
    cpu_seconds=240,
)
"""A run of a project's tests, for which a publication waits."""

DRAFT_BUILD: Final = ProcessLimits(
    memory_bytes=1024 * _MIB,
    file_bytes=192 * _MIB,
    nice=10,
    session_nice=10,
)
"""The process that builds and migrates drafts, one after another."""
DRAFT_BUILD_SECONDS: Final = 30.0
"""The timeout of one step of a draft's build, such as its tables."""

DRAFT_DATABASE_BYTES: Final = 128 * _MIB
DRAFT_UPLOADS_BYTES: Final = 64 * _MIB
"""The uploaded files of all running requests."""
DRAFT_FILES_BYTES: Final = 128 * _MIB
DRAFT_FILES: Final = 10_000
"""The most files of the addon localStorage."""
DRAFT_HISTORY_BYTES: Final = 32 * _MIB
DRAFT_FOLDER_BYTES: Final = 512 * _MIB
"""The size of a draft's folder. Above it, the process is ended."""
DRAFT_LOG_BYTES: Final = 256 << 10
"""The bytes that a draft may write to the server's log in a minute."""

MAX_MEMORY_BYTES: Final = 2 * DRAFT.memory_bytes
"""Resident memory, including shared memory. Above it, the process is ended."""
CPU_SHARE: Final = 0.5
"""The share of a core over `CPU_WINDOW_SECONDS`. Above it, new requests get status 429."""
CPU_WINDOW_SECONDS: Final = 30.0
UNRESPONSIVE_SECONDS: Final = 10.0
"""A process that does not answer for this time is ended, unless it got too little CPU time."""
RESPONSE_CPU_SECONDS: Final = 1.0
"""The CPU time within which a process that does not hang answers."""
MAX_RESPONSE_SECONDS: Final = 60.0
"""A process that does not answer for this time is ended, even on a busy machine."""
MAX_REQUESTS: Final = 64
"""The concurrent requests to a draft in a data process. More get status 429."""
MAX_CRASHES: Final = 3
"""The crashes of a commit after which the draft has failed."""
BACKOFF_SECONDS: Final = (0.0, 1.0, 5.0)
"""The pause before a process is replaced, by the number of earlier crashes."""


def apply(limits: ProcessLimits) -> None:
    """Apply limits to this process and its children. They cannot be raised again."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind, limit in (
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
    ):
        if limit is not None:
            with suppress(OSError, ValueError):  # a lower limit is set already
                resource.setrlimit(kind, (limit, limit))
    threading.stack_size(limits.thread_stack_bytes)
    os.setpriority(os.PRIO_PROCESS, 0, limits.nice)
    with suppress(OSError):
        # the kernel kills it first when the machine runs out of memory
        Path("/proc/self/oom_score_adj").write_text("1000")
