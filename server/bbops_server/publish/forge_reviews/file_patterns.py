"""Patterns of paths that match in linear time, whatever a file of owners contains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import re2

MAX_SIZE: Final = 5_000
"""The most instructions of a pattern: a literal path of the longest kind has 4,096."""


@dataclass(frozen=True, slots=True)
class FilePattern:
    """A pattern of paths, by a regular expression of RE2, which does not backtrack.

    Attributes:
        expression: the compiled expression.
        prefix: the text before a path, such as `/`.
    """

    expression: Any
    prefix: str = ""

    @property
    def size(self) -> int:
        """The number of instructions. A match takes at most so many steps for each byte."""
        return int(self.expression.programsize)

    def match_file(self, path: str, /) -> bool:
        """Return whether a path of the repository matches."""
        found = self.expression.search(f"{self.prefix}{path}".encode("utf-8", "surrogateescape"))
        return found is not None


def compile_pattern(expression: str, prefix: str = "") -> FilePattern | None:
    """Return a pattern from a regular expression; None with more than MAX_SIZE instructions."""
    options = re2.Options()
    options.log_errors, options.dot_nl = False, True
    try:
        pattern = FilePattern(re2.compile(expression.encode(), options), prefix)
    except (re2.error, UnicodeEncodeError):
        return None
    return pattern if pattern.size <= MAX_SIZE else None
