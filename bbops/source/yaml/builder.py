"""Values with places from parser events, without what this language does not allow.

Works on an explicit stack, so no nesting can exhaust Python's own, and refuses before it builds:
depth, number of values, aliases.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, Final

from yaml import events as kinds

from bbops.source.yaml.events import (
    COMMA,
    NO_KEY,
    ONE_EACH,
    QUOTE_STAR,
    SECOND,
    Parse,
    problem,
    refuse_name,
)
from bbops.source.yaml.nodes import Map, Mark, Problem, Seq, Text, Unreadable
from bbops.source.yaml.scalars import resolve

MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_PROBLEMS = 100
_SHARE = "move shared parts to a function and 'call' it"
_PROPERTIES = re.compile(r"(?:[!&][^\s,\[\]{}]*\s*)+")
_ALIAS = re.compile(r"[*&][0-9A-Za-z_-]+(?![^\s,\[\]{}])")
_INDENT = re.compile(r"[|>][-+]?([1-9])")


class _Frame:
    """A map or list under construction. `key` is the entry its next value belongs to.

    `cut_at` is the end of a value in brackets with an open parenthesis, -1 without one.
    """

    __slots__ = (
        "column",
        "cut_at",
        "end",
        "inside_key",
        "is_flow",
        "is_key",
        "key",
        "key_mark",
        "keys_at",
        "node",
        "takes_value",
    )

    def __init__(self, node: Map | Seq, mark: Mark, column: int, *, is_flow: bool) -> None:
        self.keys_at: dict[str, Mark] = {}
        self.node, self.column, self.end = node, column, mark.end
        self.key: str | None = None
        self.key_mark = mark
        self.takes_value = isinstance(node, Seq)
        self.is_key = self.inside_key = False
        self.is_flow, self.cut_at = is_flow, -1


class Builder:
    """Takes the events of one file in order; see `root`, `problems` and `indents` afterwards."""

    def __init__(self, source: str) -> None:
        self.root: Any = None
        self.problems: list[Problem] = []
        self.indents: dict[int, int] = {}
        self._source, self._stack = source, list[_Frame]()
        self._values = self._documents = 0

    def take(self, event: kinds.Event) -> None:
        """Take one event.

        Raises:
            Unreadable: the file is too deep, too large, or not one document.
        """
        kind = type(event)
        if kind is kinds.ScalarEvent:
            self._take_scalar(event)
        elif kind is kinds.MappingStartEvent:
            self._open(event, Map())
        elif kind is kinds.SequenceStartEvent:
            self._open(event, Seq())
        elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
            self._close(event)
        elif kind is kinds.AliasEvent:
            self._take_alias(event)
        elif kind is kinds.DocumentStartEvent:
            self._start_document(event)

    def _take_scalar(self, event: Any) -> None:
        self._count(event)
        mark = self._mark(event)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.is_flow and not mark.style:
            self._refuse_comma(frame, event.value, mark)
        if frame is not None and not frame.takes_value:
            self._take_key(frame, event.value, mark)
            return
        if mark.style in ("|", ">") and (digit := _INDENT.match(self._source, mark.start)):
            self.indents[mark.start] = (frame.column if frame else 0) + int(digit[1])
        self._add(self._value(event.value, mark), mark)

    def _value(self, text: str, mark: Mark) -> Any:
        value: Any = text
        if not mark.style:
            try:
                value = resolve(text)
            except OverflowError:
                message = f"'{text[:40]}' does not fit in a 64-bit integer"
                self._report(mark, "number-too-large", message, "write it as a text, in quotes")
        if isinstance(value, str):
            value = Text(value)
            value.mark = mark
        return value

    def _take_key(self, frame: _Frame, text: str, mark: Mark) -> None:
        frame.takes_value, frame.key_mark, frame.end = True, mark, mark.end
        if frame.inside_key or self._refuse_key(text, mark):
            return
        if (first := frame.keys_at.get(text)) is not None:
            hint = f"first set on line {first.line}"
            self._report(mark, "duplicate-key", f"'{text}' is set twice", hint)
            return
        frame.key = text
        frame.keys_at[text] = mark

    def _refuse_comma(self, frame: _Frame, text: str, mark: Mark) -> None:
        """Refuse a value whose parentheses a comma cuts in two: `{ where: exists(a, b) }`.

        Raises:
            Unreadable: at that comma.
        """
        opened = text.count("(") - text.count(")")
        if opened < 0 <= frame.cut_at:
            comma = self._source.find(",", frame.cut_at, mark.start)
            raise Unreadable(problem(self._source, comma, "found ',' inside a value", COMMA))
        if opened > 0 > frame.cut_at and frame.takes_value:
            frame.cut_at = mark.end

    def _refuse_key(self, text: str, mark: Mark) -> bool:
        count = len(self.problems)
        if "${" in text:
            hint = "quote the whole value: YAML reads the ':' inside it as the end of a key"
            hint = "" if mark.style else hint
            self._report(mark, "expression-key", "an expression cannot be a key", hint)
        elif text == "<<" and not mark.style:
            message = "merge keys ('<<') are not supported in bbops files"
            self._report(mark, "yaml-merge", message, _SHARE)
        elif mark.style in ("|", ">") or (not text and not mark.style):
            self._report(mark, "yaml-key", NO_KEY)
        return len(self.problems) > count

    def _take_alias(self, event: Any) -> None:
        self._count(event)
        mark = self._mark(event)
        message = f"'*{event.anchor}' is a YAML alias"
        self._refuse_odd_name(mark.start)
        hint = f"{_SHARE}; {QUOTE_STAR}"
        self._report(mark, "yaml-anchor", f"{message}, which is not supported", hint)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and not frame.takes_value:
            frame.takes_value, frame.end = True, mark.end
        else:
            self._add(None, mark)

    def _refuse_odd_name(self, at: int) -> None:
        # ruamel takes '*/5' for an alias, libyaml does not: end here, as libyaml does.
        if not _ALIAS.match(self._source, at):
            raise Unreadable(refuse_name(self._source, at))

    def _open(self, event: Any, node: Map | Seq) -> None:
        self._count(event)
        if len(self._stack) == MAX_DEPTH:
            message = f"more than {MAX_DEPTH} maps and lists are nested here"
            raise self._unreadable(event, "yaml-too-deep", message)
        mark = self._mark(event)
        is_flow = bool(event.flow_style)
        frame = _Frame(node, mark, event.start_mark.column, is_flow=is_flow)
        if isinstance(node, Map):
            node.keys_at, node.values_at = frame.keys_at, {}
        else:
            node.items_at = []
        node.mark = mark
        self._note_place(frame, mark)
        self._stack.append(frame)

    def _note_place(self, frame: _Frame, mark: Mark) -> None:
        parent = self._stack[-1] if self._stack else None
        if parent is None:
            return
        frame.is_key = not parent.takes_value
        frame.inside_key = parent.inside_key or frame.is_key
        if frame.is_key and not parent.inside_key:
            self._report_key(mark)

    def _report_key(self, mark: Mark) -> None:
        before = self._source[max(mark.start - 1, 0) : mark.start]
        hint = ""
        if (before + self._source[mark.start : mark.start + 2]).count("{{"):
            hint = "YAML reads '{{ … }}' as nested maps; expressions are written ${ … }"
            mark = mark._replace(column=mark.column - (before == "{"))
        self._report(mark, "yaml-key", "a key must be plain text, found a map or list", hint)

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        node = frame.node
        end = event.end_mark.index
        if end == event.start_mark.index:  # a block ends without a sign, at the next token
            end = frame.end
        node.mark = node.mark._replace(end=end)
        if frame.is_key:
            self._stack[-1].takes_value = True
            self._stack[-1].end = end
        else:
            self._add(node, node.mark)

    def _add(self, value: Any, mark: Mark) -> None:
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        if isinstance(frame.node, Seq):
            frame.node.append(value)
            frame.node.items_at.append(mark)
        else:
            if mark.start == mark.end:
                mark = self._after_colon(frame.key_mark, mark)
            self._add_entry(frame, frame.node, value, mark)
        frame.end = max(mark.end, frame.end)

    def _add_entry(self, frame: _Frame, node: Map, value: Any, mark: Mark) -> None:
        if frame.key is not None:
            node[frame.key] = value
            node.values_at[frame.key] = mark
        frame.key, frame.takes_value = None, False

    def _after_colon(self, key: Mark, mark: Mark) -> Mark:
        # Parsers disagree where a value that is left out stands; say: after its colon.
        colon = self._source.find(":", key.end, mark.end + 1)
        if colon < 0 or self._source[key.end : colon].strip(" \t"):
            return mark
        column = key.column + colon + 1 - key.start
        return Mark(key.line, column, colon + 1, colon + 1, "")

    def _start_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self._unreadable(event, "yaml-documents", SECOND, ONE_EACH)

    def _count(self, event: Any) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            message = f"the file contains more than {MAX_VALUES:,} values"
            raise self._unreadable(event, "yaml-too-large", message)

    def _mark(self, event: Any) -> Mark:
        start = event.start_mark
        mark = Mark(
            start.line + 1,
            start.column + 1,
            start.index,
            event.end_mark.index,
            getattr(event, "style", None) or "",
        )
        if getattr(event, "tag", None) or (event.anchor and type(event) is not kinds.AliasEvent):
            return self._refuse_properties(event, mark)
        return mark

    def _refuse_properties(self, event: Any, mark: Mark) -> Mark:
        if event.anchor:
            at = max(self._source.find("&", mark.start, mark.end), mark.start)
            self._refuse_odd_name(at)
            message = f"'&{event.anchor}' is a YAML anchor, which is not supported"
            self._report(_moved(self._source, mark, at), "yaml-anchor", message, _SHARE)
        if event.tag:
            at = max(self._source.find("!", mark.start, mark.end), mark.start)
            message = "YAML tags ('!…') are not supported in bbops files"
            hint = "quote a value that starts with '!'"
            self._report(_moved(self._source, mark, at), "yaml-tag", message, hint)
        content = _PROPERTIES.match(self._source, mark.start, mark.end)
        return _moved(self._source, mark, content.end() if content else mark.start)

    def _report(self, mark: Mark, code: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(mark.line, mark.column, code, message, hint))
        if len(self.problems) >= MAX_PROBLEMS:
            message = f"stopped after {MAX_PROBLEMS} findings"
            raise Unreadable(Problem(mark.line, mark.column, code, message))

    def _unreadable(self, event: Any, code: str, message: str, hint: str = "") -> Unreadable:
        start = event.start_mark
        return Unreadable(Problem(start.line + 1, start.column + 1, code, message, hint))


def _at(source: str, at: int) -> tuple[int, int]:
    lines = re.split(r"\r\n|\r|\n", source[:at])
    return len(lines), len(lines[-1]) + 1


def _moved(source: str, mark: Mark, at: int) -> Mark:
    line, column = _at(source, at) if at != mark.start else (mark.line, mark.column)
    return mark._replace(line=line, column=column, start=at, end=max(at, mark.end))


# ---- Find characters that change the direction of text, and so what a reviewer sees of a file
# Refused where the file's own words stand; in comments and quoted texts, which may hold Arabic or
# Hebrew, each is pointed out.
# Source: Boucher and Anderson, "Trojan Source: Invisible Vulnerabilities" (CVE-2021-42574).

TURNING: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""The characters, as a part of a class of a regular expression."""

_TURNING: Final = re.compile(f"[{TURNING}]")
_MOST: Final = 20
_SEEN: Final = ": the text may not be what it looks like"


def find_directions(source: str, parse: Parse) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return what is refused of a file that can be parsed, and what is only pointed out."""
    if source.isascii() or not _TURNING.search(source):
        return (), ()
    events: list[Any] = [one for one in parse(source) if type(one) is kinds.ScalarEvent]
    scalars = [(one.start_mark.index, one.end_mark.index, bool(one.style)) for one in events]
    refused, shown = [], []
    for found in _TURNING.finditer(source):
        at = bisect_right(scalars, (found.start(), len(source), True)) - 1
        is_plain = at >= 0 and scalars[at][1] > found.start() and not scalars[at][2]
        if is_plain:
            refused.append(_tell(source, found.start()))
        else:
            shown.append(_tell(source, found.start(), _SEEN))
    return tuple(refused[:_MOST]), tuple(shown[:_MOST])


def _tell(source: str, at: int, consequence: str = "") -> Problem:
    message = f"character {_name(source[at])} changes the text direction{consequence}"
    hint = f'remove it, or write it as \\u{ord(source[at]):04X} inside "…"'
    return problem(source, at, message, hint, "text-direction")


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"
