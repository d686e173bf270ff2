"""Count between the characters of a file and those of a text in it."""

from __future__ import annotations

from bbops.interfaces.lsp.text import Lines
from bbops.source.yaml.document import Document, Mark


def offset_in(document: Document, lines: Lines, mark: Mark, at: int) -> int:
    """Return the last character of a text that does not stand behind offset `at` of the file."""
    low, high = 0, mark.end - mark.start
    while low < high:
        middle = (low + high + 1) // 2
        if lines.offset_of(*document.position(mark, middle)) <= at:
            low = middle
        else:
            high = middle - 1
    return low


def start_of(document: Document, lines: Lines, mark: Mark, offset: int) -> int:
    """Return the offset in the file of character `offset` of a text."""
    return lines.offset_of(*document.position(mark, offset))
