"""Read a file during typing: a placeholder at the cursor makes it valid.

The features of an editor find the placeholder in the result of the usual parsers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bbops.interfaces.lsp.text import SourceLines
from bbops.language.expressions.inside import nodes
from bbops.language.expressions.nodes import Filter, Literal, Member, Name, Node
from bbops.language.expressions.syntax import SyntaxProblem, parse
from bbops.source.yaml.document import Document, load
from bbops.source.yaml.edit import Spot, spots

PLACEHOLDER = "cursorstandsherenow"
_NAME = re.compile(r"[A-Za-z0-9_]")
_ATTEMPTS = 6
_CLOSING = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A file with the placeholder at `spot`; `start` and `end` enclose the replaced word."""

    document: Document
    spot: Spot
    start: int
    end: int


def insert_placeholder(lines: SourceLines, offset: int) -> Placeholder | None:
    """Return the file with the placeholder for the word at the cursor; None in comments."""
    source = lines.source
    start = end = offset
    while start and _NAME.match(source[start - 1]):
        start -= 1
    while end < len(source) and _NAME.match(source[end]):
        end += 1
    line_start, line_end = lines.line_at(offset)
    if _is_comment(source[line_start:start]):
        return None
    before, after = source[:line_start], source[line_end:]
    variants = list(_variants(source[line_start:start], source[end:line_end]))
    for attempts in (0, _ATTEMPTS):  # a valid file comes before a file without some lines
        for line in variants:
            if result := _load(before, line, after, attempts):
                return Placeholder(*result, start, end)
    return None


def _is_comment(text: str) -> bool:
    return bool(re.match(r"\s*#", text) or re.search(r"\s#[^'\"]*$", text))


def _variants(head: str, tail: str) -> Iterator[str]:
    """Yield the possible lines with the placeholder."""
    whole = head + PLACEHOLDER + tail
    yield whole
    yield (
        f"{head}{PLACEHOLDER}: 0{tail}"
        if tail.lstrip()[:1] in {"}", ","}
        else f"{head}{PLACEHOLDER}:{tail}"
    )
    yield whole + _closing(whole)
    yield head + PLACEHOLDER + _closing(head)
    yield f"{head}{PLACEHOLDER}: 0" + _closing(head)


def _closing(line: str) -> str:
    """Return the closing quotes, braces and brackets that a line lacks."""
    open_: list[str] = []
    for char in line:
        if open_ and open_[-1] in "'\"":
            if char == open_[-1]:
                open_.pop()
        elif char in "{[(" or (char in "'\"" and _opens_quote(line, open_)):
            open_.append(char)
        elif open_ and char == _CLOSING[open_[-1]]:
            open_.pop()
    return "".join(_CLOSING.get(char, char) for char in reversed(open_))


def _opens_quote(line: str, open_: list[str]) -> bool:
    return bool(open_) or bool(re.search(r"[:\-]\s+['\"]", line))


def _load(before: str, line: str, after: str, attempts: int) -> tuple[Document, Spot] | None:
    """Read the file; with `attempts`, invalid other lines are removed, then all lines below.

    Without attempts, the next variant of this line is read if any line is not valid YAML.
    """
    for rest in dict.fromkeys((after, "") if attempts else (after,)):
        text = (before + line + rest).split("\n")
        document = _read(text, before.count("\n"), attempts)
        if (spot := _find(document)) is not None:
            return document, spot
    return None


def _read(text: list[str], current: int, attempts: int) -> Document:
    """Read lines; up to `attempts` invalid lines are removed, but never the `current` one."""
    document = load("\n".join(text).encode(errors="replace"))
    for _ in range(attempts):
        if document.root is not None or not document.problems:
            break
        invalid = document.problems[-1].line - 1
        if invalid == current or invalid >= len(text) or not text[invalid].strip():
            break
        text[invalid] = ""
        document = load("\n".join(text).encode(errors="replace"))
    return document


def _find(document: Document) -> Spot | None:
    for spot in spots(document.root):
        if isinstance(spot.value, str) and PLACEHOLDER in spot.value:
            return spot
    return None


# ---- expressions
@dataclass(frozen=True, slots=True)
class PlaceholderExpression:
    """An expression with the placeholder: its valid text, and the node of the placeholder."""

    text: str
    node: Node


def expression_in(text: str, *, is_bare: bool) -> PlaceholderExpression | None:
    """Return the expression with the placeholder in a text; None in plain text."""
    position = text.index(PLACEHOLDER)
    if not is_bare:
        start = text.rfind("${", 0, position)
        if start < 0 or "}" in text[start:position]:
            return None
        end = text.find("}", position)
        text, position = text[start + 2 : end if end >= 0 else len(text)], position - start - 2
    for candidate in _expressions(text, position):
        try:
            tree = parse(candidate)
        except SyntaxProblem:
            continue
        if (node := _node(tree)) is not None:
            return PlaceholderExpression(candidate, node)
    return None


def _expressions(text: str, position: int) -> Iterator[str]:
    head = text[:position] + PLACEHOLDER
    yield text
    yield head + _closing_of(head)
    yield head + _closing_of(head) + " else null"
    for match in re.finditer(
        r"[(\[,]|\b(?:and|or|not|if|else|in)\b|[=!<>]=?|[-+*/%]", text[:position]
    ):
        tail = text[match.end() : position] + PLACEHOLDER  # the longest part that can be parsed
        yield tail + _closing_of(tail)


def _closing_of(text: str) -> str:
    open_: list[str] = []
    quoted = False
    for char in text:
        quoted ^= char == "'"
        if quoted:
            continue
        if char in "([":
            open_.append(_CLOSING[char])
        elif open_ and char == open_[-1]:
            open_.pop()
    return ("'" if quoted else "") + "".join(reversed(open_))


def _node(tree: Node) -> Node | None:
    """Return the node of the placeholder; for a text the filter of which it is an argument."""
    for node in nodes(tree):
        if isinstance(node, Name | Member | Filter) and node.name == PLACEHOLDER:
            return node
        if isinstance(node, Filter) and any(has_placeholder(arg) for arg in node.args):
            return node
    return None


def has_placeholder(node: Node) -> bool:
    """Return whether a text in a node contains the placeholder."""
    return any(isinstance(part, Literal) and PLACEHOLDER in str(part.value) for part in nodes(node))
