"""Set one value in a JSON file that people write, and keep its comments, order and spaces.

Editors allow comments and trailing commas in their settings, which the standard library does not
parse, and would not keep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.errors import BbopsError

MAX_CHARACTERS: Final = 2_000_000
_MAX_DEPTH: Final = 100
_TOKEN: Final = re.compile(
    r'(?P<space>[\s\ufeff]+|//[^\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<sign>[{}\[\],:])|(?P<word>[A-Za-z0-9+.\-]+)",
    re.DOTALL,
)
_COMMA: Final = re.compile(r"(?>\s|//[^\n]*|/\*.*?\*/)*+,", re.DOTALL)
_COMMENT: Final = re.compile(r"[ \t]*(?://[^\n]*|/\*(?:(?!\*/)[^\n])*\*/)")


@dataclass(slots=True)
class JsonNode:
    """A value with its range in the text; `members` has the members of a map, by name."""

    start: int
    end: int = 0
    value: Any = None
    members: dict[str, JsonNode] = field(default_factory=dict)
    is_map: bool = False


def read(text: str, keys: Sequence[str] = ()) -> Any:
    """Return the value under some keys; None without one.

    Raises:
        BbopsError: the text is not valid JSON.
    """
    node: JsonNode | None = _parse(text)
    for key in keys:
        node = node.members.get(key) if node is not None else None
    return node.value if node is not None else None


def write(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a value under some keys; missing maps are created.

    Raises:
        BbopsError: the text is not valid JSON, or a value on the path is not a map.
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


def _insert(text: str, node: JsonNode, member: str, depth: int) -> str:
    """Insert a member at the end of a map; on its own line if the others are."""
    unit = _indent(text)
    inner, outer = "\n" + unit * (depth + 1), "\n" + unit * depth
    if not node.members:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        return text[: node.start + 1] + inside + inner + member + outer + text[node.end - 1 :]
    last = max(member.end for member in node.members.values())
    is_one_line = "\n" not in text[node.start : node.end]
    rest = text[last : node.end - 1]
    comma = _COMMA.match(rest)
    position = last + comma.end() if comma else last
    put = ("" if comma else ",") + (" " if is_one_line else inner) + member
    if comma and not is_one_line:
        comment = _COMMENT.match(text, position)
        position = comment.end() if comment else position  # it belongs to the member before it
        put += ","
    elif not comma:
        comment = _COMMENT.match(text, position)
        if comment:  # the comma goes before the comment, the new member after it
            return text[:position] + "," + comment[0] + put[1:] + text[comment.end() :]
    return text[:position] + put + text[position:]


def _dump(value: Any, unit: str, depth: int) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).splitlines()
    return ("\n" + unit * depth).join(lines)


def _indent(text: str) -> str:
    match = re.search(r"\{\s*\n([ \t]+)\S", text)
    return match[1] if match else "  "


# ---- reading
@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _invalid(text, position)
        if match.lastgroup != "space":
            yield _Token(match.lastgroup, match[0], position, match.end())
        position = match.end()
    yield _Token("end", "", len(text), len(text))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, list(_tokens(text)), 0

    def take(self, *texts: str) -> _Token | None:
        """Return the next token and advance, if it is one of these signs; else None."""
        token = self.tokens[self.at]
        if token.kind != "sign" or token.text not in texts:
            return None
        self.at += 1
        return token

    def need(self, *texts: str) -> _Token:
        token = self.take(*texts)
        if token is None:
            raise _invalid(self.text, self.tokens[self.at].start)
        return token

    def value(self, depth: int = 0) -> JsonNode:
        token = self.tokens[self.at]
        if depth > _MAX_DEPTH:
            raise _invalid(self.text, token.start)
        self.at += 1
        if token.kind == "sign" and token.text == "{":
            return self.map(token, depth)
        if token.kind == "sign" and token.text == "[":
            return self.list(token, depth)
        if token.kind in {"string", "word"}:
            return JsonNode(token.start, token.end, self.scalar(token))
        raise _invalid(self.text, token.start)

    def scalar(self, token: _Token) -> Any:
        try:
            return json.loads(token.text, strict=False)
        except ValueError:
            raise _invalid(self.text, token.start) from None

    def map(self, first: _Token, depth: int) -> JsonNode:
        node = JsonNode(first.start, value={}, is_map=True)
        while (end := self.take("}")) is None:
            key = self.tokens[self.at]
            if key.kind != "string":
                raise _invalid(self.text, key.start)
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

    def list(self, first: _Token, depth: int) -> JsonNode:
        node = JsonNode(first.start, value=[])
        while (end := self.take("]")) is None:
            node.value.append(self.value(depth + 1).value)
            if self.take(",") is None:
                end = self.need("]")
                break
        node.end = end.end
        return node


def _parse(text: str) -> JsonNode:
    if len(text) > MAX_CHARACTERS:
        raise BbopsError(f"the file has more than {MAX_CHARACTERS:,} characters")
    if not text.strip("\ufeff \t\r\n"):
        return JsonNode(0, 0, {}, is_map=True)
    parser = _Parser(text)
    node = parser.value()
    if parser.tokens[parser.at].kind != "end":
        raise _invalid(text, parser.tokens[parser.at].start)
    return node


def _invalid(text: str, position: int) -> BbopsError:
    line = text.count("\n", 0, position) + 1
    return BbopsError(f"line {line} is not valid JSON", hint="fix it by hand, then try again")
