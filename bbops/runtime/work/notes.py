"""A job's notes that are not recorded yet: how they are taken, and how failures become notes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from bbops.runtime.values.failures import Failure
from bbops.runtime.work.results import CUT, Failed

Note = Callable[[str, Any], None]


class Taking:
    """Gives a function that takes all notes; where the block fails they are notes again.

    A class, as `FailuresTo`: each step of each job comes here, and a generator costs more.
    """

    __slots__ = ("_notes", "_taken")

    def __init__(self, notes: list[tuple[str, Any]]) -> None:
        self._notes, self._taken = notes, list[tuple[str, Any]]()

    def __enter__(self) -> Callable[[], list[tuple[str, Any]]]:
        return self._take

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._notes[:0] = self._taken

    def _take(self) -> list[tuple[str, Any]]:
        self._taken.extend(self._notes)
        self._notes.clear()
        return self._taken


class FailuresTo:
    """Notes how a call fails: where its function catches that, the next attempt goes the same way.

    An uncaught failure ends the attempt and discards the notes that are not recorded.
    """

    __slots__ = ("_note", "_path")

    def __init__(self, note: Note, path: str) -> None:
        self._note, self._path = note, path

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Failure):
            self._note(self._path, Failed.of(error))
        elif isinstance(error, asyncio.CancelledError):
            self._note(self._path, CUT)
