"""Read an author's own SQL: its verb, its `:name` parameters, what it must not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

READS: Final = frozenset({"select", "values", "with"})
WRITES: Final = frozenset({"insert", "replace", "update", "delete", "with"})

_PART: Final = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<quoted>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\])"
    r"|::|:(?P<name>[A-Za-z_]\w*)|(?P<word>[A-Za-z_]\w*)|(?P<other>.)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class OwnStatement:
    """A statement, with `?` for its parameters.

    Attributes:
        sql: its text, without a final semicolon.
        names: the parameter of each `?`.
        words: its words in lower case, quoted names included; texts are left out.
        problem: what is wrong with it; empty when nothing is known to be.
    """

    sql: str
    names: tuple[str, ...]
    words: tuple[str, ...]
    problem: str = ""

    @property
    def verb(self) -> str:
        """The first word."""
        return self.words[0] if self.words else ""

    @property
    def gives_rows(self) -> bool:
        """Whether it returns rows, not only how many it changed."""
        return self.verb not in WRITES - {"with"} or "returning" in self.words


def read_statement(text: str) -> OwnStatement:
    """Return what one statement is made of. O(its length)."""
    parts = list(_PART.finditer(text))
    while parts and (parts[-1]["space"] or parts[-1]["other"] == ";"):
        parts.pop()
    names = tuple(part["name"] for part in parts if part["name"])
    sql = "".join("?" if part["name"] else part[0] for part in parts)
    return OwnStatement(sql, names, tuple(_words(parts)), _problem(parts))


def _words(parts: list[re.Match[str]]) -> Iterator[str]:
    for part in parts:
        if part["word"]:
            yield part["word"].lower()
        elif part["quoted"] and not part["quoted"].startswith("'"):
            yield part["quoted"][1:-1].lower()
        elif part["other"] == "*":
            yield "*"


def _problem(parts: list[re.Match[str]]) -> str:
    for part in parts:
        if part["other"] == ";":
            return "a step runs one statement, and ';' begins another one"
        if part["other"] in {"?", "@", "$"}:
            return f"parameters are written ':name', not '{part['other']}'"
    return ""
