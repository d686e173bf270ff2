"""An author's own statement sees the visible rows of tables with rules, under their names.

The names are defined by a WITH in front of the statement. A name reaches past them if it stands
after a schema, or if this module and the database read it differently: so an ambiguous statement is
refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from bbops.language.sql.dialect import Template, seq
from bbops.language.sql.own import OwnStatement
from bbops.language.sql.query import Query
from bbops.language.sql.ruled import named_rows
from bbops.language.sql.types import SqlTable
from bbops.runtime.values.identifiers import quote

_MOST: Final = 63
"""The number of characters that PostgreSQL reads of a name."""
_TWO_WAYS: Final = (
    ("\\", "a backslash"), ("`", "a backquote"), ("--", "a comment"), ("/*", "a comment"),
)  # fmt: skip
_PLACES: Final = re.compile(r"\[[0-9]*\]")
"""The index or the type of an array."""
_OURS: Final = re.compile(r"_(?:visible|kept)_", re.IGNORECASE)
_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\w+|\S", re.DOTALL)
_WITH: Final = re.compile(r"\s*with(?:\s+recursive)?(?=[\s\"])", re.IGNORECASE)


def names_table(text: str, table: str) -> bool:
    """Return whether a statement may use a table: its name occurs in it, in any role."""
    end = "" if len(table) >= _MOST else r"(?!\w)"
    return re.search(rf"(?<!\w){re.escape(table)}{end}", text, re.IGNORECASE) is not None


def past_rules(text: str, table: str) -> str:
    """Return why a statement might see more than the visible rows of a table; else nothing."""
    if found := next((what for sign, what in _TWO_WAYS if sign in text), ""):
        return f"{found} can be read in two ways"
    if "[" in _PLACES.sub("", text):
        return "a bracket can be read in two ways"
    if _OURS.search(text):
        return "names with '_visible_' or '_kept_' are those of rules"
    tokens = [*_tokens(text)]
    if not _is_balanced(tokens):
        return "its parentheses do not match"
    for before, word in pairwise(tokens):
        if before == "." and _named(word)[:_MOST] == table:
            return f"'{table}' stands behind a dot, as with a schema"
    return ""


def behind_rules(
    query: Query, tables: Sequence[SqlTable], own: OwnStatement, given: Mapping[str, ast.expr]
) -> Template:
    """Return a statement that sees the visible rows of tables under their names.

    Args:
        query: takes parameters and switches; it is the query of one of the tables.
        given: the code of each parameter.
    """
    main = query.visible.schema = query.dialect.main
    sources = {table.name: query.visible.source(table) for table in tables}
    shown = ", ".join(_shown(name, source) for name, source in sources.items())
    rows = named_rows(query)
    at = {name: query.parameter(code) for name, code in given.items()}
    first, *rest = own.pieces
    others: list[Template] = []
    for name, piece in zip(own.names, rest, strict=True):
        others += [at[name], piece]
    own_with = _WITH.match(first)
    if own_with is None:
        return seq("WITH ", rows, f", {shown} ", first, *others)
    if main:
        rest_of = first[own_with.end() :]
        return seq(f"{own_with[0].strip()} ", rows, f", {shown}, ", rest_of, *others)
    # a WITH RECURSIVE would let names see each other, and there is one WITH for one SELECT
    return seq("WITH ", rows, f", {shown} SELECT * FROM (", first, *others, ") AS _own")


def tried(own: OwnStatement, sources: Mapping[str, str]) -> str:
    """Return a statement for SQLite that reads tables with rules under other names.

    It compiles if there is no table of such a name, unless it reaches past the WITH.
    """
    text, shown = own.sql, ", ".join(_shown(*source) for source in sources.items())
    own_with = _WITH.match(text)
    if own_with is None:
        return f"WITH {shown} {text}"
    return f"{own_with[0]} {shown}, {text[own_with.end() :]}"


def _shown(name: str, source: str) -> str:
    return f"{quote(name)} AS NOT MATERIALIZED (SELECT * FROM {source})"


def _tokens(text: str) -> Iterator[str]:
    return (found[0] for found in _TOKEN.finditer(text))


def _named(word: str) -> str:
    """Return the name of a word or a quoted name; SQLite accepts texts as names, too."""
    quote = word[0]
    if quote in "'\"" and len(word) > 1:
        word = word[1:-1].replace(quote * 2, quote)
    return word.lower()


def _is_balanced(tokens: Sequence[str]) -> bool:
    open_ = 0
    for word in tokens:
        open_ += (word == "(") - (word == ")")
        if open_ < 0:
            return False
    return open_ == 0
