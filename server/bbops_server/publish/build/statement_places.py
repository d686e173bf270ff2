"""The YAML lines of a release's SQL statements: compiled code has its file and lines."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from bbops.runtime.data.statements import Statement
from bbops.runtime.linking.release import Release


@dataclass(frozen=True, slots=True)
class StatementUse:
    """A SQL statement, and the global name by which a function reads it."""

    text: str
    name: str
    code: CodeType

    @property
    def place(self) -> str:
        """The `file:line` of its step; empty if unknown. Disassembles the function."""
        return _find_place(self.code, self.name)


def statement_uses(release: Release) -> Iterator[StatementUse]:
    """Yield every SQL text of a release with its use."""
    for space in release.spaces:
        code: Any = space["flow"].__code__
        for name, value in space.items():
            if isinstance(value, Statement):
                yield from (StatementUse(text, name, code) for text in value.samples())


def _find_place(code: CodeType, name: str) -> str:
    """Return the `file:line` of the first use of a global name, in inner functions last."""
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno if instruction.positions else None
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval == name and line:
            return f"{code.co_filename}:{line}"
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return next(filter(None, (_find_place(constant, name) for constant in inner)), "")
