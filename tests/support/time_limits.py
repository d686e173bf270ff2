"""A bound on the processor time that a test lets bad input take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

MOST_SECONDS = 5.0
"""Far above what any of these needs, far below a hang, on a busy machine."""


@contextmanager
def in_time(seconds: float = MOST_SECONDS) -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds
