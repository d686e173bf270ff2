"""Do something again and again beside what is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def again(work: Callable[[], float], *, pause_seconds: float) -> Iterator[list[float]]:
    """Do something until the block ends; yields how long each time took."""
    is_over, took = threading.Event(), list[float]()

    def repeat() -> None:
        while not is_over.wait(pause_seconds):
            took.append(work())

    working = threading.Thread(target=repeat)
    working.start()
    try:
        yield took
    finally:
        is_over.set()
        working.join()
