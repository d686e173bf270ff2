"""Set one value in a JSON file that people write: comments, order and spaces around it stay.

Editors keep settings as JSON with comments and commas behind the last member, which no parser of
the standard library reads and no writer keeps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.errors import BbopsError

MOST_CHARACTERS: Final = 2_000_000
_MOST_DEPTH: Final = 100
_TOKEN: Final = re.compile(
    r'(?P<space>[\s\ufeff]+|//[^\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<sign>[{}\[\],:])|(?P<word>[A-Za-z0-9+.\-]+)",
    re.DOTALL,
)
_COMMA: Final = re.compile(r"(?>\s|//[^\n]*|/\*.*?\*/)*+,", re.DOTALL)
_REMARK: Final = re.compile(r"[ \t]*(?://[^\n]*|/\*(?:(?!\*/)[^\n])*\*/)")


@dataclass(slots=True)
class Node:
    """A value with its place in the text; `members` are those of a map, by name."""

    start: int
    end: int = 0
    value: Any = None
    members: dict[str, Node] = field(default_factory=dict)
    is_map: bool = False


def read(text: str, keys: Sequence[str] = ()) -> Any:
    """Return the value under some keys; None where there is none.

    Raises:
        BbopsError: the text is no JSON.
    """
    node: Node | None = _parse(text)
    for key in keys:
        node = node.members.get(key) if node is not None else None
    return node.value if node is not None else None


def write(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a value under some keys; maps on the way are made.

    Raises:
        BbopsError: the text is no JSON, or something else than a map stands on the way.
    """
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    node, depth = _parse(text), 0
    while depth < len(keys) and node.is_map and keys[depth] in node.members:
        node, depth = node.members[keys[depth]], depth + 1
    for key in reversed(keys[depth + 1 :]):
        value = {key: value}
    unit = _indent(text)
    if depth == len(keys):
        if node.value == value:
            return text
        return text[: node.start] + _dump(value, unit, depth) + text[node.end :]
    if not node.is_map:
        where = ".".join(keys[:depth]) or "the file"
        raise BbopsError(f"{where} must be a map", hint="fix it by hand")
    return _insert(text, node, f"{json.dumps(keys[depth])}: {_dump(value, unit, depth + 1)}", depth)


def _insert(text: str, node: Node, member: str, depth: int) -> str:
    """Put a member behind the last one of a map; on its own line where the others are."""
    unit = _indent(text)
    inner, outer = "\n" + unit * (depth + 1), "\n" + unit * depth
    if not node.members:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        return text[: node.start + 1] + inside + inner + member + outer + text[node.end - 1 :]
    last = max(one.end for one in node.members.values())
    is_one_line = "\n" not in text[node.start : node.end]
    rest = text[last : node.end - 1]
    comma = _COMMA.match(rest)
    at = last + comma.end() if comma else last
    put = ("" if comma else ",") + (" " if is_one_line else inner) + member
    if comma and not is_one_line:
        remark = _REMARK.match(text, at)
        at = remark.end() if remark else at  # behind the comma it belongs to what is before it
        put += ","
    elif not comma:
        remark = _REMARK.match(text, at)
        if remark:  # the comma goes before the remark, the member behind it
            return text[:at] + "," + remark[0] + put[1:] + text[remark.end() :]
    return text[:at] + put + text[at:]


def _dump(value: Any, unit: str, depth: int) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).splitlines()
    return ("\n" + unit * depth).join(lines)


def _indent(text: str) -> str:
    found = re.search(r"\{\s*\n([ \t]+)\S", text)
    return found[1] if found else "  "


# ---- reading
@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise _wrong(text, at)
        if found.lastgroup != "space":
            yield _Token(found.lastgroup, found[0], at, found.end())
        at = found.end()
    yield _Token("end", "", len(text), len(text))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, list(_tokens(text)), 0

    def take(self, *texts: str) -> _Token | None:
        """Take the next token if it is one of these signs."""
        token = self.tokens[self.at]
        if token.kind != "sign" or token.text not in texts:
            return None
        self.at += 1
        return token

    def need(self, *texts: str) -> _Token:
        token = self.take(*texts)
        if token is None:
            raise _wrong(self.text, self.tokens[self.at].start)
        return token

    def value(self, depth: int = 0) -> Node:
        token = self.tokens[self.at]
        if depth > _MOST_DEPTH:
            raise _wrong(self.text, token.start)
        self.at += 1
        if token.kind == "sign" and token.text == "{":
            return self.map(token, depth)
        if token.kind == "sign" and token.text == "[":
            return self.list(token, depth)
        if token.kind in {"string", "word"}:
            return Node(token.start, token.end, self.scalar(token))
        raise _wrong(self.text, token.start)

    def scalar(self, token: _Token) -> Any:
        try:
            return json.loads(token.text, strict=False)
        except ValueError:
            raise _wrong(self.text, token.start) from None

    def map(self, first: _Token, depth: int) -> Node:
        node = Node(first.start, value={}, is_map=True)
        while (end := self.take("}")) is None:
            key = self.tokens[self.at]
            if key.kind != "string":
                raise _wrong(self.text, key.start)
            self.at += 1
            self.need(":")
            member = self.value(depth + 1)
            name = self.scalar(key)
            node.members[name], node.value[name] = member, member.value
            if self.take(",") is None:
                end = self.need("}")
                break
        node.end = end.end
        return node

    def list(self, first: _Token, depth: int) -> Node:
        node = Node(first.start, value=[])
        while (end := self.take("]")) is None:
            node.value.append(self.value(depth + 1).value)
            if self.take(",") is None:
                end = self.need("]")
                break
        node.end = end.end
        return node


def _parse(text: str) -> Node:
    if len(text) > MOST_CHARACTERS:
        raise BbopsError(f"the file has more than {MOST_CHARACTERS:,} characters")
    if not text.strip("\ufeff \t\r\n"):
        return Node(0, 0, {}, is_map=True)
    parser = _Parser(text)
    node = parser.value()
    if parser.tokens[parser.at].kind != "end":
        raise _wrong(text, parser.tokens[parser.at].start)
    return node


def _wrong(text: str, at: int) -> BbopsError:
    line = text.count("\n", 0, at) + 1
    return BbopsError(f"line {line} is not valid JSON", hint="fix it by hand, then try again")
