"""Load a YAML file into values that know their place, or into problems. Nothing raises.

Fast (a C parser, our own resolver and places) and guarded: every limit is checked on the stream
of events, before anything is built from them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bbops.source.yaml import places
from bbops.source.yaml.builder import Builder, find_directions
from bbops.source.yaml.events import Broken, Parse, explain, parse, problem
from bbops.source.yaml.nodes import Map, Mark, Problem, Seq, Text, Unreadable

__all__ = ["MAX_BYTES", "Document", "Map", "Mark", "Problem", "Seq", "Text", "load"]

MAX_BYTES = 1 << 20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Besides control characters: line separators, which only some programs take for line breaks.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_DIRECTIVE = re.compile(r"(?>[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*+%")


@dataclass(frozen=True, slots=True)
class Document:
    """One file's values. Knows no path, so it can be kept by the file's blob id.

    `root` is None when the file is empty, and when a problem kept it from being read to its end.
    What a problem is about is left out of `root`: a key that is set twice keeps its first value.
    """

    root: Any
    source: str
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()
    """What is pointed out, and keeps nobody from using the file."""
    _indents: Mapping[int, int] = field(default_factory=dict, repr=False)

    def position(self, mark: Mark, offset: int = 0) -> tuple[int, int]:
        """Return line and column of character `offset` of the text that stands at `mark`.

        Exact for every style. O(length of the text), then O(log lines) while it is being asked
        about; an offset outside the text means its nearer end.
        """
        mark, offset = mark.at(offset)
        return places.locate(self.source, mark, offset, self._indents.get(mark.start, 0))

    def indent(self, mark: Mark) -> int:
        """Return how far a block scalar is indented whose header says so; 0 for the others."""
        return self._indents.get(mark.start, 0)


def load(data: bytes) -> Document:
    """Read a file. Any bytes will do: what cannot be read becomes a Problem."""
    return load_with(data, parse)


def load_with(data: bytes, parse_events: Parse) -> Document:
    """Read a file by the given parser."""
    try:
        source = _decode(data)
    except Unreadable as error:
        return Document(None, "", (error.problem,))
    builder = Builder(source)
    last: tuple[Problem, ...] = ()
    try:
        for event in parse_events(source):
            builder.take(event)
    except Unreadable as error:
        last = (error.problem,)
    except Broken as broken:
        last = (explain(source, broken),)
    if last:
        return Document(None, source, (*builder.problems, *last), (), builder.indents)
    refused, shown = find_directions(source, parse_events)
    return Document(builder.root, source, (*builder.problems, *refused), shown, builder.indents)


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data):,} bytes, expected at most {MAX_BYTES:,}"
        raise Unreadable(Problem(1, 1, "yaml-too-large", message))
    if data.startswith(_UTF16):
        raise Unreadable(_encoding("", 0, "the file is UTF-16, expected UTF-8"))
    try:
        source = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise Unreadable(_not_utf8(error)) from None
    _refuse_characters(source)
    return source


def _not_utf8(error: UnicodeDecodeError) -> Problem:
    before = error.object[: error.start].decode()
    message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
    return _encoding(before, len(before), message)


def _encoding(source: str, at: int, message: str) -> Problem:
    return problem(source, at, message, "save the file as UTF-8", "yaml-encoding")


def _refuse_characters(source: str) -> None:
    if found := _FORBIDDEN.search(source):
        message = f"character U+{ord(found[0]):04X} is not allowed in a file"
        hint = f'inside "…" write it as \\u{ord(found[0]):04X}'
        raise Unreadable(problem(source, found.start(), message, hint, "yaml-encoding"))
    if found := _DIRECTIVE.match(source):
        message = "a line that starts with '%' is a YAML directive, which is not supported"
        raise Unreadable(problem(source, found.end() - 1, message))
