"""The layout of a file: its entries with their comments, and the quotes of its scalars.

Values come from `bbops.source.yaml.document`; here they meet their comments, blank lines and raw
text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bbops.source.yaml.builder import TURNING
from bbops.source.yaml.document import Document
from bbops.source.yaml.nodes import Map, Mark, Seq
from bbops.source.yaml.scalars import resolve

BLANK = ""
"""Stands for a blank line among comments."""

_COMMENT = re.compile(r"(?<!\S)#[^\n]*")
_BLANK_LINE = re.compile(r"(?<=\n)[ \t]*(?=\n)|^[ \t]*(?=\n)")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar: its value, and the text that stands for it in the file."""

    value: Any
    raw: str
    style: str
    indent: int = 0
    """Of a block scalar whose header says it; 0 for the others."""


@dataclass(slots=True)
class Block:
    """A map or list. `is_flow` is written in brackets, `is_long` over several lines."""

    entries: list[Entry]
    is_map: bool
    is_flow: bool = False
    is_long: bool = False
    after: list[str] = field(default_factory=list)
    """Comments behind the last entry that are indented like it."""
    title: list[str] = field(default_factory=list)
    """Comments above the first entry that stay there, whichever entry is the first."""


@dataclass(slots=True)
class Entry:
    """An entry of a map, or an item of a list, whose `key` is None.

    `before` are the comment lines above it, `head` is the comment behind the key of a block,
    `tail` the one behind the value; the blanks before these two are theirs.
    """

    key: Leaf | None
    value: Leaf | Block
    before: list[str] = field(default_factory=list)
    head: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A comment or blank line; `is_own` unless something stands before it on its line."""

    at: int
    column: int
    text: str
    is_own: bool


def read_layout(document: Document) -> Block:
    """Return the layout of a file whose root is a map, and whose lines end with LF only."""
    return _Reader(document).read()


def comments_of(document: Document) -> list[str]:
    """Return the text of every comment, in order."""
    in_blocks = [
        comment[0]
        for start, end in _scalars(document.root)
        if document.source[start] in "|>"
        for comment in _COMMENT.finditer(document.source[start:end].partition("\n")[0])
    ]
    return [*(line.text.strip() for line in _find_lines(document) if line.text), *in_blocks]


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document, self.source = document, document.source
        self.lines = _find_lines(document)
        self.position = 0

    def read(self) -> Block:
        root = self.block(self.document.root, self.document.root.mark, len(self.source))
        root.after += [line.text.strip() for line in self.lines[self.position :]]
        return root

    def block(self, node: Map | Seq, mark: Mark, limit: int) -> Block:
        items = list(_items(node))
        raw = self.source[mark.start : mark.end]
        is_flow = raw[:1] in {"{", "["}
        found = Block([], isinstance(node, Map), is_flow, is_flow and "\n" in raw)
        for number, (key, key_mark, value, value_mark) in enumerate(items):
            following = items[number + 1] if number + 1 < len(items) else None
            start = (key_mark or value_mark).start
            entry = Entry(self.leaf(key, key_mark) if key_mark else None, Leaf(None, "", ""))
            entry.before = self.take_before(start)
            until = (following[1] or following[3]).start if following else limit
            self.value(entry, (key_mark or value_mark).end, value, value_mark, until)
            found.entries.append(entry)
        end = mark.end if is_flow else limit
        found.after = self.take_after(0 if is_flow else mark.column, end)
        return found

    def value(self, entry: Entry, key_end: int, value: Any, mark: Mark, limit: int) -> None:
        if isinstance(value, Map | Seq):
            first = next(_items(value), None)
            start = (first[1] or first[3]).start if first else mark.end
            entry.head = self.take_behind(key_end, start) if entry.key else ""
            entry.value = self.block(value, mark, limit)
        else:
            entry.value = self.leaf(value, mark)
        entry.tail = self.take_behind(content_end(self.source, mark), limit)

    def leaf(self, value: Any, mark: Mark) -> Leaf:
        raw = self.source[mark.start : mark.end]
        return Leaf(value, raw, mark.style, self.document.indent(mark))

    # ---- comments
    def take_before(self, until: int) -> list[str]:
        taken = []
        while self.position < len(self.lines) and self.lines[self.position].at < until:
            taken.append(self.lines[self.position].text.strip())
            self.position += 1
        return taken

    def take_behind(self, start: int, until: int) -> str:
        """Return the comment on the line where something ended at `start`."""
        if self.position == len(self.lines):
            return ""
        line = self.lines[self.position]
        if line.is_own or line.at >= until or "\n" in self.source[start : line.at]:
            return ""
        self.position += 1
        return line.text

    def take_after(self, column: int, until: int) -> list[str]:
        """Return the comments that still belong to a block which begins at this column."""
        end = self.position
        for number in range(self.position, len(self.lines)):
            line = self.lines[number]
            if line.at >= until or (line.text and line.column < column):
                break
            end = number + 1 if line.text else end
        taken = [line.text.strip() for line in self.lines[self.position : end]]
        self.position = end
        return taken


def _items(node: Map | Seq) -> Iterator[tuple[str | None, Mark | None, Any, Mark]]:
    if isinstance(node, Map):
        for key, value in node.items():
            yield key, node.keys_at[key], value, node.values_at[key]
    else:
        for value, mark in zip(node, node.items_at, strict=True):
            yield None, None, value, mark


def _scalars(node: Map | Seq) -> Iterator[tuple[int, int]]:
    for _, key_mark, value, mark in _items(node):
        if key_mark is not None:
            yield key_mark.start, key_mark.end
        if isinstance(value, Map | Seq):
            yield from _scalars(value)
        else:
            yield mark.start, mark.end


def content_end(source: str, mark: Mark) -> int:
    """Return where a value ends; the blank lines behind a block scalar are none of it."""
    if mark.style in ("|", ">") and "+" not in source[mark.start : mark.start + 3]:
        return mark.start + len(source[mark.start : mark.end].rstrip(" \n"))
    return mark.end


def _find_lines(document: Document) -> list[_Line]:
    """Return the comments and blank lines of a file, in order."""
    source, found, at = document.source, list[_Line](), 0
    for start, end in [*_spans(document), (len(source), len(source))]:
        for comment in _COMMENT.finditer(source, at, start):
            column = comment.start() - source.rfind("\n", 0, comment.start())
            begun = source[comment.start() - column + 1 : comment.start()]
            blanks = " " * max(len(begun) - len(begun.rstrip()), 1)
            text = blanks + comment[0].rstrip()
            found.append(_Line(comment.start(), column, text, not begun.strip()))
        found += [
            _Line(b.start(), 0, BLANK, is_own=True) for b in _BLANK_LINE.finditer(source, at, start)
        ]
        at = end
    return sorted(found, key=lambda line: line.at)


def _spans(document: Document) -> Iterator[tuple[int, int]]:
    source = document.source
    for start, end in _scalars(document.root):
        style = source[start] if start < end and source[start] in "|>" else ""
        yield start, content_end(source, Mark(1, 1, start, end, style))


# ---- Write a scalar as it stands in a file, with quotes only where a reader needs them

# Signs that mean something at the start of a scalar; `-` and `?` only before a blank, but a text
# that begins with them is easier to read in quotes.
_ODD = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff" + TURNING
_ODDITY = re.compile(f"[{_ODD}]")
_PLAIN = re.compile(rf"[^\s\-?:,\[\]{{}}#&*!|>'\"%@`=<~{_ODD}][^{_ODD}]*")
_NEEDS_QUOTES = re.compile(r":(?:\s|$)|\s#|\s$|^\.\.\.")
# Inside of brackets a brace or comma ends a plain text; some readers take `:` and `?` for more.
_IN_BRACKETS = re.compile(r"[^,\[\]{}:?#\"]*")
# What readers of YAML 1.1 take for something else than text.
_OTHER_WORDS = {"", "y", "n", "yes", "no", "on", "off", "null", "true", "false"}
_LIKE_A_NUMBER = re.compile(
    r"[-+.]?[0-9][-+._:0-9]*(?:[eE][-+]?[0-9]+)?|[-+]?0[xob][0-9a-fA-F_]*|[0-9-]{8,10}[Tt ].*"
)
_HEADER = re.compile(r"([|>])([-+]?)[1-9]?([-+]?)(.*)")


_ENDS_IN_BLANKS = re.compile(r"\n[ \t]+\n*\Z")  # a last line that nobody would see in a block


def write_key(key: Leaf, *, in_brackets: bool = False) -> str:
    """Return a key."""
    return write_inline(key) if in_brackets else _one_line(key, in_brackets=False)


def write_inline(leaf: Leaf) -> str:
    """Return a scalar inside of brackets: always one line."""
    return _one_line(leaf, in_brackets=True)


def write_lines(leaf: Leaf, indent: int) -> str:
    """Return a scalar behind a key or dash at `indent`; its other lines are indented by two more.

    How the author broke a long text into lines stays.
    """
    if leaf.style in ("|", ">"):
        return _block_scalar(leaf, indent + 2)
    if "\n" not in leaf.raw:
        return _one_line(leaf, in_brackets=False)
    pad = " " * (indent + 2)
    first, *others = (line.strip() for line in leaf.raw.split("\n"))
    return "\n".join([first, *(pad + line if line else "" for line in others)])


def _one_line(leaf: Leaf, *, in_brackets: bool) -> str:
    if leaf.style == "":
        text = leaf.raw if "\n" not in leaf.raw else str(leaf.value)
        if not text:
            return "null" if in_brackets else ""
        return text if "\n" not in text else json.dumps(text, ensure_ascii=False)
    text = str(leaf.value)
    if may_be_plain(text, in_brackets=in_brackets):
        return text
    return quoted(text) if "\n" in leaf.raw or text.isprintable() else leaf.raw


def quoted(text: str) -> str:
    """Return a text in quotes: double ones, unless that would take an escape that `'` saves."""
    if text.isprintable() and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    return _ODDITY.sub(_escaped, json.dumps(text, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def may_be_plain(text: str, *, in_brackets: bool = False) -> bool:
    """Return whether every reader of YAML, of 1.1 too, takes the unquoted text for this text."""
    if not _PLAIN.fullmatch(text) or _NEEDS_QUOTES.search(text):
        return False
    if in_brackets and not _IN_BRACKETS.fullmatch(text):
        return False
    if text.lower() in _OTHER_WORDS or _LIKE_A_NUMBER.fullmatch(text):
        return False
    return isinstance(resolve(text), str)


def _block_scalar(leaf: Leaf, indent: int) -> str:
    header, *lines = leaf.raw.split("\n")
    found = _HEADER.fullmatch(header)
    if found is None:
        return leaf.raw
    if _ENDS_IN_BLANKS.search(str(leaf.value)):
        return json.dumps(str(leaf.value), ensure_ascii=False)
    sign, chomping, other, comment = found.groups()
    if lines and not lines[-1]:
        lines.pop()
    while lines and not lines[-1].strip() and "+" not in chomping + other:
        lines.pop()
    if lines and not str(leaf.value).endswith("\n"):  # the file ended without a line end
        chomping, other = "-", ""
    first = next((line for line in lines if line.strip()), "")
    old = leaf.indent or len(first) - len(first.lstrip(" "))
    digit = "2" if leaf.indent else ""
    cut = (line[old:] for line in lines)
    text = "\n".join(" " * indent + line if line else "" for line in cut)
    return f"{sign}{digit}{chomping}{other}{comment.rstrip()}" + (f"\n{text}" if lines else "")
