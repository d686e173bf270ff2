"""A bound on the processor time that hostile input may take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

CPU_SECONDS = 30.0
"""A hundred times what ordinary input takes, so no busy machine reaches it; far below a hang."""


@contextmanager
def in_time() -> Iterator[None]:
    """Fail if the body takes more processor time of this process than `CPU_SECONDS`."""
    start = time.process_time()
    yield
    assert time.process_time() - start < CPU_SECONDS
