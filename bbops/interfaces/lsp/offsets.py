"""Convert offsets between a file and a text in it."""

from __future__ import annotations

from bbops.interfaces.lsp.text import SourceLines
from bbops.source.yaml.document import Document, Mark


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
