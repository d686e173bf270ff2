"""Convert Markdown of the documentation to plain text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import click

_LINK: Final = re.compile(r"\[([^]]+)\]\([^)]*\)")
_CELL: Final = re.compile(r"(?<!\\)\|")
_HEADING: Final = re.compile(r"#+ (.+)")
_RULE: Final = re.compile(r"[-| ]+")


def without_marks(markdown: str) -> str:
    """Return a text without backticks, asterisks and link targets; `|` is escaped in a table."""
    text = _LINK.sub(r"\1", markdown).replace("**", "")
    return text.replace("\\|", "|").replace("`", "'")


def as_plain(markdown: str) -> str:
    """Return a page as plain text: code is indented without fences, tables have even columns."""
    lines, in_code = list[str](), False
    for is_table, group in groupby(markdown.splitlines(), key=lambda line: line.startswith("| ")):
        if is_table and not in_code:
            lines += _table(list(group))
            continue
        for line in group:
            if line.startswith("```"):
                in_code = not in_code
            else:
                lines.append(f"    {line}".rstrip() if in_code else _line(line))
    return "\n".join(lines)


def _line(line: str) -> str:
    heading = _HEADING.fullmatch(line)
    return click.style(without_marks(heading[1]), bold=True) if heading else without_marks(line)


def _table(rows: Sequence[str]) -> Iterator[str]:
    cells = [
        [without_marks(cell.strip()) for cell in _CELL.split(row)[1:-1]]
        for row in rows if not _RULE.fullmatch(row)
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*cells, strict=False)]
    for row in cells:
        yield "  ".join(
            f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)
        ).rstrip()
