"""Find the YAML lines of a release's statements: compiled code knows its file and lines."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

from bbops.runtime.data.statements import Statement
from bbops.runtime.linking.release import Release


def placed_statements(release: Release) -> Iterator[tuple[str, str]]:
    """Yield every SQL text with the `file:line` of its step; empty where nobody knows."""
    for space in release.spaces:
        places = _places_of_names(space["flow"].__code__)
        for name, value in space.items():
            if isinstance(value, Statement):
                yield from ((text, places.get(name, "")) for text in value.samples())


def _places_of_names(code: CodeType) -> dict[str, str]:
    """Return the `file:line` where each global name is read first, also in inner functions."""
    found: dict[str, str] = {}
    for one in dis.get_instructions(code):
        line = one.positions.lineno if one.positions else None
        if one.opname == "LOAD_GLOBAL" and line:
            found.setdefault(str(one.argval), f"{code.co_filename}:{line}")
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found = _places_of_names(inner) | found
    return found
