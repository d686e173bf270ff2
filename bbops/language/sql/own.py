"""An author's own SQL: its verb, its `:name` parameters, its forbidden names and parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

READS: Final = frozenset({"select", "values", "with"})
WRITES: Final = frozenset({"insert", "replace", "update", "delete", "with"})

_PART: Final = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<quoted>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\])"
    r"|::|:(?P<name>[A-Za-z_]\w*)|(?P<word>[A-Za-z_]\w*)|(?P<other>.)",
    re.DOTALL,
)
_PARENTHESIS: Final = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)*\(", re.DOTALL)
_ALONE: Final = re.compile(r"\s+(?:is|as)\b", re.IGNORECASE)
_UNICODE: Final = re.compile(r"&['\"]")


@dataclass(frozen=True, slots=True)
class OwnStatement:
    """A statement, without a final semicolon.

    Attributes:
        pieces: its text around its parameters: one more piece than parameters.
        names: the parameters, in their order.
        alone: for each parameter, whether only a cast can give its type: in `:since IS NULL`.
        words: its words in lower case, quoted names included; texts are left out.
        problem: the mistake in it; empty if none is known.
    """

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    problem: str = ""
    alone: tuple[bool, ...] = ()

    @property
    def sql(self) -> str:
        """The text, with `?` for its parameters."""
        return "?".join(self.pieces)

    @property
    def verb(self) -> str:
        """The first word."""
        return self.words[0] if self.words else ""

    @property
    def gives_rows(self) -> bool:
        """Whether it returns rows, not only the number of changed rows."""
        return self.verb not in WRITES - {"with"} or "returning" in self.words


def read_statement(text: str) -> OwnStatement:
    """Return the parts of one statement. O(its length)."""
    parts = list(_PART.finditer(text))
    while parts and (parts[-1]["space"] or parts[-1]["other"] == ";"):
        parts.pop()
    names = tuple(part["name"] for part in parts if part["name"])
    pieces, alone = [""], []
    for part in parts:
        if part["name"]:
            pieces.append("")
            alone.append(_ALONE.match(text, part.end()) is not None)
        else:
            pieces[-1] += part[0]
    words = tuple(_words(parts))
    problem = _problem(parts) or closed(words, called(text))
    return OwnStatement(tuple(pieces), names, words, problem, tuple(alone))


def called(text: str) -> frozenset[str]:
    """Return the possible calls in a statement: names before a parenthesis, in lower case."""
    found: set[str] = set()
    for part in _PART.finditer(text):
        quoted = part["quoted"] or ""
        if quoted.startswith(("[", "`")):  # an index of an array, on PostgreSQL
            found |= called(quoted[1:-1])
        elif (quoted.startswith('"') or part["word"]) and _PARENTHESIS.match(text, part.end()):
            found.add((part["word"] or quoted[1:-1]).lower())
    return frozenset(found)


def _words(parts: list[re.Match[str]]) -> Iterator[str]:
    for part in parts:
        if part["word"]:
            yield part["word"].lower()
        elif part["quoted"] and part["quoted"].startswith(("[", "`")):
            inside = part["quoted"][1:-1]
            yield inside.lower()
            if not inside.isidentifier():  # an index of an array, on PostgreSQL
                yield from _words(list(_PART.finditer(inside)))
        elif part["quoted"] and part["quoted"].startswith('"'):
            yield part["quoted"][1:-1].lower()
        elif part["other"] == "*":
            yield "*"


def _problem(parts: list[re.Match[str]]) -> str:
    for part in parts:
        if part["word"] and part["word"].lower() == "u" and _UNICODE.match(part.string, part.end()):
            return "names and texts are written as they are, without 'U&'"
        if part["other"] == ";":
            return "a step runs one statement, and ';' begins another one"
        if part["other"] in {"?", "@", "$"}:
            return f"parameters are written ':name', not '{part['other']}'"
    return ""


# ---- The names that an author's own SQL may not use, on any database
# SQLite asks about each name as it compiles (see `bbops.database.sqlite.author_sql`). PostgreSQL
# has the permissions of the role instead, and these words: its catalog, and functions that run SQL
# out of texts, wait, or reach files, other servers and settings.

_NAMES: Final = ("_bbops", "pg_", "pragma_", "sqlite_")
_CALLS: Final = ("dblink", "lo_", "inet_client_", "inet_server_", "crosstab")
_TO_XML: Final = (
    "query_to_xml",
    "table_to_xml",
    "cursor_to_xml",
    "schema_to_xml",
    "database_to_xml",
)
_FUNCTIONS: Final = frozenset({
    "connectby", "current_setting", "load_extension", "loread", "lowrite", "readfile", "set_config",
    "setval", "ts_rewrite", "ts_stat", "version", "writefile", "xpath_table",
})  # fmt: skip
_BEFORE_INTO: Final = frozenset({
    "insert", "replace", "ignore", "abort", "fail", "rollback", "merge",
})  # fmt: skip


def closed(words: Sequence[str], calls: Collection[str]) -> str:
    """Return the mistake in the names of a statement, or an empty text.

    Args:
        words: its words without texts, in lower case.
        calls: the words before a parenthesis.
    """
    for word in words:
        if word.startswith(_NAMES) or word == "information_schema":
            return f"'{word}' is not allowed in a step's statement"
    for name in sorted(calls):
        if name in _FUNCTIONS or name.startswith((*_CALLS, *_TO_XML)):
            return f"function '{name}' is not allowed in a step's statement"
    for before, word in zip(("", *words), words, strict=False):
        if word == "into" and before not in _BEFORE_INTO:
            return "'SELECT … INTO' creates a table: a step's statement reads or writes rows"
    return ""
