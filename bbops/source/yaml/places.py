"""Find the source character behind each character of a scalar's value.

A value differs from its source by folded lines, doubled quotes, escapes and indentation, so a
message about the 30th character of an expression must be counted back to be exact.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from bbops.source.yaml.nodes import Mark

_BREAK = re.compile(r"\r\n|\r|\n")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_BLOCK_HEADER = re.compile(r"[|>]([-+0-9]*)[^\r\n]*(?:\r\n|\r|\n|\Z)")
_ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r\n|[\s\S])"
_TOKENS = {
    "": re.compile(r"[ \t\r\n]+|[^ \t\r\n]+"),
    "'": re.compile(r"[ \t\r\n]+|''|[^ \t\r\n']+"),
    '"': re.compile(rf"[ \t\r\n]+|{_ESCAPE}|[^ \t\r\n\\]+"),
}

_SPECIAL = {"": "", "'": "'", '"': "\\"}


class _Scalar(NamedTuple):
    """`offsets[i]` is the source index of character i; the last entry is where the text ends."""

    offsets: array[int]
    lines: array[int]


def locate(source: str, mark: Mark, offset: int, indent: int = 0) -> tuple[int, int]:
    """Return the line and column of character `offset` of the value that stands at `mark`.

    An offset outside the value is moved to its nearer end. `indent` is the number of columns
    before each line of a block scalar that names its own indentation, and 0 for all others.
    """
    if not offset and not mark.style:  # a plain scalar begins where it stands
        return mark.line, mark.column
    scalar = _measure(source, mark, indent)
    at = scalar.offsets[max(0, min(offset, len(scalar.offsets) - 1))]
    line = bisect_right(scalar.lines, at) - 1
    first = mark.start - mark.column + 1 if line == 0 else scalar.lines[line]
    return mark.line + line, at - first + 1


@lru_cache(maxsize=8)
def _measure(source: str, mark: Mark, indent: int) -> _Scalar:
    end = min(mark.end, len(source))
    if mark.style in ("|", ">"):
        offsets = _BlockReader(source, mark, end, indent).read()
    elif mark.style in ("'", '"'):
        offsets = _flow_offsets(source, mark.start + 1, end - 1, mark.style)
    else:
        offsets = _flow_offsets(source, mark.start, end, "")
    starts = [m.end() for m in _BREAK.finditer(source, mark.start, end)]
    return _Scalar(offsets, array("q", [0, *starts]))


def _flow_offsets(source: str, start: int, end: int, style: str) -> array[int]:
    offsets, joined = array("q"), False
    for token in _TOKENS[style].finditer(source, start, end):
        text, at = token[0], token.start()
        escaped_break = style == '"' and text[0] == "\\" and text[1] in "\r\n"
        if text[0] in " \t\r\n":
            offsets.extend(_fold(source, at, token.end(), joined=joined))
        elif text[0] == _SPECIAL[style]:
            if not escaped_break:
                offsets.append(at)
        else:
            offsets.extend(range(at, token.end()))
        joined = escaped_break
    offsets.append(end)
    return offsets


def _fold(source: str, start: int, end: int, *, joined: bool) -> Iterable[int]:
    """Return the places of white space inside a flow scalar; `joined` follows an escaped break."""
    breaks = [m.start() for m in _BREAK.finditer(source, start, end)]
    if joined:
        return breaks
    if not breaks:
        return range(start, end)
    return breaks if len(breaks) == 1 else breaks[1:]


class _BlockReader:
    """Walks a `|` or `>` scalar line by line, as libyaml's `yaml_parser_scan_block_scalar` does."""

    def __init__(self, source: str, mark: Mark, end: int, indent: int) -> None:
        self._source, self._end, self._folded = source, end, mark.style == ">"
        header = _BLOCK_HEADER.match(source, mark.start)
        self._chomping = header[1] if header else ""
        self._at = min(header.end() if header else end, end)
        self._indent = indent or self._detect_indent()
        self._column = 0
        self._blank_lines: list[int] = []
        self._offsets = array("q")

    def read(self) -> array[int]:
        """Return the source index of every character, and of the end."""
        line_break, was_blank = -1, True
        self._skip_indentation()
        while self._column == self._indent and self._at < self._end:
            blank = self._source[self._at] in " \t"
            self._join(line_break, folds=self._folded and not was_blank and not blank)
            was_blank, line_break = blank, self._take_line()
            self._skip_indentation()
        if line_break >= 0 and "-" not in self._chomping:
            self._offsets.append(line_break)
        if "+" in self._chomping:
            self._offsets.extend(self._blank_lines)
        self._offsets.append(self._offsets[-1] + 1 if self._offsets else self._at)
        return self._offsets

    def _detect_indent(self) -> int:
        deepest = 1
        for line in _LINE.finditer(self._source, self._at, self._end):
            text = line[1].lstrip(" ")
            deepest = max(deepest, len(line[1]) - len(text))
            if text:
                break
        return deepest

    def _join(self, line_break: int, *, folds: bool) -> None:
        if line_break >= 0 and not (folds and self._blank_lines):
            self._offsets.append(line_break)
        self._offsets.extend(self._blank_lines)
        self._blank_lines = []

    def _take_line(self) -> int:
        """Take a line's text; return where it breaks, or -1 at the end of the file."""
        line_break = _BREAK.search(self._source, self._at, self._end)
        stop = line_break.start() if line_break else self._end
        self._offsets.extend(range(self._at, stop))
        self._at = line_break.end() if line_break else self._end
        return stop if line_break else -1

    def _skip_indentation(self) -> None:
        while True:
            limit = min(self._at + self._indent, self._end)
            first = self._at
            while self._at < limit and self._source[self._at] == " ":
                self._at += 1
            self._column = self._at - first
            line_break = _BREAK.match(self._source, self._at, self._end)
            if line_break is None:
                return
            self._blank_lines.append(self._at)
            self._at = line_break.end()
