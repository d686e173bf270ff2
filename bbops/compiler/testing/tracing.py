"""Watch compiled functions while they run: which steps, how long, what changed.

Compiled code has the file and lines of its YAML, so Python's own tracing tells the steps apart and
the code itself need not know of it. Slow: only a case that failed runs again under it.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from types import FrameType
from typing import Any

from bbops.compiler.testing.values import plain, shown
from bbops.language.project import Project
from bbops.language.steps._base import Step, step_kinds
from bbops.runtime.flow.masking import MASK, is_secret

MOST = 200
"""Steps that one trace keeps."""


@dataclass(frozen=True, slots=True)
class Traced:
    """One step as it ran; `changed` maps variables to their new values, secrets masked."""

    file: str
    line: int
    step: str
    milliseconds: float
    changed: Mapping[str, str]


class _Open:
    """The step that a function is at; `number` is its place among all that were seen."""

    def __init__(self, at: int, number: int, variables: dict[str, Any]) -> None:
        self.at, self.number, self.variables = at, number, variables
        self.began = perf_counter()
        self.reach(variables)

    def reach(self, variables: dict[str, Any]) -> None:
        """Note how far the step has come."""
        self.latest, self.until = variables, perf_counter()


class Tracer:
    """Keeps the steps of a project's functions, in the order in which they began."""

    def __init__(self, project: Project, secrets: Iterable[str]) -> None:
        self._steps: dict[int, Traced] = {}
        self._count = 0
        self._lines: dict[str, tuple[list[int], list[str]]] = {}
        for one in project.functions.values():
            found = sorted(_lines(one.model.steps))
            self._lines[one.file] = [line for line, _ in found], [name for _, name in found]
        columns = (
            (name, column.private)
            for table in project.sql_tables.values() for name, column in table.columns.items()
        )  # fmt: skip
        self._private = {name for name, private in columns if private}
        self._secrets = sorted({one for one in secrets if one}, key=len, reverse=True)
        self._open: dict[FrameType, _Open] = {}

    @property
    def steps(self) -> list[Traced]:
        """The steps that ran, at most MOST."""
        return [self._steps[number] for number in sorted(self._steps)][:MOST]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what this thread runs."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            for frame in list(self._open):
                self._close(frame)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        return self._follow if frame.f_code.co_filename in self._lines else None

    def _follow(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "return" and frame in self._open:  # or it waits for something
            self._open[frame].reach(_variables(frame))
        if event == "line":
            self._step(frame)
        return self._follow

    def _step(self, frame: FrameType) -> None:
        lines, _ = self._lines[frame.f_code.co_filename]
        at = bisect_right(lines, frame.f_lineno) - 1
        known = self._open.get(frame)
        if at < 0 or (known is not None and known.at == at):
            return
        if known is not None:
            known.reach(_variables(frame))
            self._close(frame)
        self._count += 1
        self._open[frame] = _Open(at, self._count, _variables(frame))

    def _close(self, frame: FrameType) -> None:
        known, file = self._open.pop(frame), frame.f_code.co_filename
        lines, names = self._lines[file]
        changed = {
            name: self._shown(name, value) for name, value in known.latest.items()
            if value is not known.variables.get(name)
        }  # fmt: skip
        if known.number <= MOST:
            took = 1000 * (known.until - known.began)
            step = Traced(file, lines[known.at], names[known.at], took, changed)
            self._steps[known.number] = step

    def mask(self, value: Any) -> Any:
        """Return a value without secrets: private columns, secret env values, fields named so."""
        if isinstance(value, dict):
            return {key: MASK if self._hides(key) else self.mask(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.mask(one) for one in value]
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, MASK)
        return value

    def mask_field(self, name: str, value: Any) -> Any:
        """Return the value of a field of that name without secrets."""
        return MASK if self._hides(name) else self.mask(value)

    def _hides(self, name: str) -> bool:
        return name in self._private or is_secret(name)

    def _shown(self, name: str, value: Any) -> str:
        if self._hides(name) or name.lower().endswith("hash"):
            return MASK
        try:
            return shown(self.mask(plain(value)))
        except (TypeError, ValueError):
            return f"({type(value).__name__})"


def _variables(frame: FrameType) -> dict[str, Any]:
    return {
        name.removeprefix("v_"): value
        for name, value in frame.f_locals.items() if name.startswith("v_")
    }  # fmt: skip


def _lines(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    for step in steps:
        if step.mark is not None:
            yield step.mark.line, step.name or _action(step)
        for block in step.blocks():
            yield from _lines(block)


def _action(step: Step) -> str:
    kinds = {kind: key for key, kind in step_kinds().items()}
    return kinds.get(type(step)) or str(getattr(step, "id", type(step).__name__))
