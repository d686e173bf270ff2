"""Convert between the positions of an editor and offsets in Python.

An editor counts columns in UTF-16 units by default; lines end as in YAML.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from lsprotocol.types import Position, PositionEncodingKind, Range

from bbops.source.yaml.document import Document, Mark

_BREAK = re.compile(r"\r\n|\r|\n")
UTF16 = PositionEncodingKind.Utf16.value


class SourceLines:
    """The lines of a text. Offsets count its characters from 0."""

    def __init__(self, source: str, encoding: str = UTF16) -> None:
        self.source, self._encoding = source, encoding
        self._starts = [0, *(match.end() for match in _BREAK.finditer(source))]

    def offset(self, position: Position) -> int:
        """Return the offset of a position; outside the text, the nearer end."""
        if position.line >= len(self._starts):
            return len(self.source)
        start = self._starts[position.line]
        units = 0
        for index, char in enumerate(self.line(position.line)):
            if units >= position.character:
                return start + index
            units += self._units(char)
        return start + len(self.line(position.line))

    def position(self, offset: int) -> Position:
        """Return the position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        before = self.line(line)[: offset - self._starts[line]]
        return Position(line, sum(map(self._units, before)))

    def range(self, start: int, end: int) -> Range:
        """Return the range from one offset up to another."""
        return Range(self.position(start), self.position(end))

    def offset_of(self, line: int, column: int) -> int:
        """Return the offset of a line and column counted from 1, as in diagnostics."""
        start = self._starts[min(line, len(self._starts)) - 1]
        return min(start + column - 1, len(self.source))

    def line(self, number: int) -> str:
        """Return a line by its number from 0, without its line break."""
        start = self._starts[number]
        last = number + 1 == len(self._starts)
        text = self.source[start:] if last else self.source[start : self._starts[number + 1]]
        return text.rstrip("\r\n")

    def line_at(self, offset: int) -> tuple[int, int]:
        """Return the start and end of the line at an offset, without its line break."""
        number = bisect_right(self._starts, offset) - 1
        return self._starts[number], self._starts[number] + len(self.line(number))

    def _units(self, char: str) -> int:
        if self._encoding == PositionEncodingKind.Utf8.value:
            return len(char.encode(errors="replace"))
        is_pair = self._encoding == UTF16 and ord(char) > 0xFFFF
        return 2 if is_pair else 1


# ---- Convert offsets between a file and a text in it


def offset_in(document: Document, lines: SourceLines, mark: Mark, position: int) -> int:
    """Return the offset in a text of the character at offset `position` of the file."""
    low, high = 0, mark.end - mark.start
    while low < high:
        middle = (low + high + 1) // 2
        if lines.offset_of(*document.position(mark, middle)) <= position:
            low = middle
        else:
            high = middle - 1
    return low


def start_of(document: Document, lines: SourceLines, mark: Mark, offset: int) -> int:
    """Return the offset in the file of character `offset` of a text."""
    return lines.offset_of(*document.position(mark, offset))
