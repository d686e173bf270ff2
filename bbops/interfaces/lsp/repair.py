"""Read a file that is being typed in: a stand-in word at the cursor makes it whole.

Everything that helps while typing looks for the stand-in in what the usual readers make of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bbops.interfaces.lsp.text import Lines
from bbops.language.expressions.inside import nodes
from bbops.language.expressions.nodes import Filter, Literal, Member, Name, Node
from bbops.language.expressions.syntax import SyntaxProblem, parse
from bbops.source.yaml.document import Document, load
from bbops.source.yaml.spots import Spot, spots

WORD = "cursorstandsherenow"
_NAME = re.compile(r"[A-Za-z0-9_]")
_TRIES = 6
_CLOSES = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True, slots=True)
class Repaired:
    """A file with the stand-in, and where it stands; `start` and `end` are those of its word."""

    document: Document
    spot: Spot
    start: int
    end: int


def repair(lines: Lines, offset: int) -> Repaired | None:
    """Return the file with the stand-in for the word at the cursor; None in comments and keys."""
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
    for tries in (0, _TRIES):  # what is whole comes before what leaves out lines
        for line in variants:
            if found := _load(before, line, after, tries):
                return Repaired(*found, start, end)
    return None


def _is_comment(text: str) -> bool:
    return bool(re.match(r"\s*#", text) or re.search(r"\s#[^'\"]*$", text))


def _variants(head: str, tail: str) -> Iterator[str]:
    """Yield the line with the stand-in, in the ways that it may be meant."""
    whole = head + WORD + tail
    yield whole
    yield f"{head}{WORD}: 0{tail}" if tail.lstrip()[:1] in {"}", ","} else f"{head}{WORD}:{tail}"
    yield whole + _closing(whole)
    yield head + WORD + _closing(head)
    yield f"{head}{WORD}: 0" + _closing(head)


def _closing(line: str) -> str:
    """Return what closes the quotes, braces and brackets that a line leaves open."""
    open_: list[str] = []
    for char in line:
        if open_ and open_[-1] in "'\"":
            if char == open_[-1]:
                open_.pop()
        elif char in "{[(" or (char in "'\"" and _opens_quote(line, open_)):
            open_.append(char)
        elif open_ and char == _CLOSES[open_[-1]]:
            open_.pop()
    return "".join(_CLOSES.get(char, char) for char in reversed(open_))


def _opens_quote(line: str, open_: list[str]) -> bool:
    return bool(open_) or bool(re.search(r"[:\-]\s+['\"]", line))


def _load(before: str, line: str, after: str, tries: int) -> tuple[Document, Spot] | None:
    """Read the file; with `tries`, lines elsewhere that are no YAML are left out, then all behind.

    Without them a line that is no YAML is a reason to read this one in another way.
    """
    for rest in dict.fromkeys((after, "") if tries else (after,)):
        text = (before + line + rest).split("\n")
        document = _read(text, before.count("\n"), tries)
        if (spot := _find(document)) is not None:
            return document, spot
    return None


def _read(text: list[str], here: int, tries: int) -> Document:
    """Read lines; up to `tries` that are no YAML are left out, but never the one at `here`."""
    document = load("\n".join(text).encode(errors="replace"))
    for _ in range(tries):
        if document.root is not None or not document.problems:
            break
        wrong = document.problems[-1].line - 1
        if wrong == here or wrong >= len(text) or not text[wrong].strip():
            break
        text[wrong] = ""
        document = load("\n".join(text).encode(errors="replace"))
    return document


def _find(document: Document) -> Spot | None:
    for spot in spots(document.root):
        if isinstance(spot.value, str) and WORD in spot.value:
            return spot
    return None


# ---- expressions
@dataclass(frozen=True, slots=True)
class Whole:
    """An expression with the stand-in, mended: its text, and the node that the stand-in is."""

    text: str
    node: Node


def expression_in(text: str, *, is_bare: bool) -> Whole | None:
    """Return the expression of a text that the stand-in is in; None where it is plain text."""
    at = text.index(WORD)
    if not is_bare:
        start = text.rfind("${", 0, at)
        if start < 0 or "}" in text[start:at]:
            return None
        end = text.find("}", at)
        text, at = text[start + 2 : end if end >= 0 else len(text)], at - start - 2
    for candidate in _expressions(text, at):
        try:
            tree = parse(candidate)
        except SyntaxProblem:
            continue
        if (node := _node(tree)) is not None:
            return Whole(candidate, node)
    return None


def _expressions(text: str, at: int) -> Iterator[str]:
    head = text[:at] + WORD
    yield text
    yield head + _closing_of(head)
    yield head + _closing_of(head) + " else null"
    for found in re.finditer(r"[(\[,]|\b(?:and|or|not|if|else|in)\b|[=!<>]=?|[-+*/%]", text[:at]):
        tail = text[found.end() : at] + WORD  # the longest part that can be read
        yield tail + _closing_of(tail)


def _closing_of(text: str) -> str:
    open_: list[str] = []
    quoted = False
    for char in text:
        quoted ^= char == "'"
        if quoted:
            continue
        if char in "([":
            open_.append(_CLOSES[char])
        elif open_ and char == open_[-1]:
            open_.pop()
    return ("'" if quoted else "") + "".join(reversed(open_))


def _node(tree: Node) -> Node | None:
    """Return the node of the stand-in; for a text the filter that it is an argument of."""
    for node in nodes(tree):
        if isinstance(node, Name | Member | Filter) and node.name == WORD:
            return node
        if isinstance(node, Filter) and any(is_here(arg) for arg in node.args):
            return node
    return None


def is_here(node: Node) -> bool:
    """Return whether the stand-in is a text in a node."""
    return any(isinstance(one, Literal) and WORD in str(one.value) for one in nodes(node))
