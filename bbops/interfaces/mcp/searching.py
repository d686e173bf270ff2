"""Find sections of the documentation by words: an index in memory, made when it is first asked."""

from __future__ import annotations

import re
import sqlite3
import threading
from dataclasses import dataclass
from functools import cache
from typing import Final

from bbops.interfaces.mcp.handbook import Section, read_pages

MOST_WORDS: Final = 16
_WORD: Final = re.compile(r"\w+")
_NAME: Final = re.compile(r"\b[a-z]+(?:[A-Z][a-z]+)+\b")
_CODE: Final = re.compile(r"[a-z]+(?:-[a-z]+)+")
_SMALL: Final = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "how", "i", "in",
    "is", "it", "make", "my", "of", "on", "or", "the", "to", "use", "what", "with",
})  # fmt: skip
_TABLE: Final = (
    "CREATE VIRTUAL TABLE sections USING fts5(title, heading, text, names, page UNINDEXED,"
    " anchor UNINDEXED, tokenize = 'porter unicode61')"
)
_FIND: Final = (
    "SELECT title, heading, page, anchor, snippet(sections, 2, '', '', ' … ', 48)"
    " FROM sections WHERE sections MATCH ?"
    " ORDER BY heading = ? COLLATE NOCASE DESC,"
    " bm25(sections, 6.0, 4.0, 1.0, 0.5) * iif(page LIKE 'errors/%', ?, 1) LIMIT ?"
)
"""What is asked for by its heading comes first; what says how, before what says what is wrong."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that was found, with the words around those that were asked for."""

    title: str
    heading: str
    page: str
    anchor: str
    snippet: str


def search(query: str, limit: int) -> list[Hit]:
    """Return the sections that fit best, the best first.

    Those that have every word come first; a query without words finds nothing. Blocks for a
    millisecond, the first time for some 100.
    """
    words = [word for word in _WORD.findall(query.lower()) if word not in _SMALL][:MOST_WORDS]
    if not words:
        return []
    heading = query.strip(" []'`")
    found = _ask(" AND ", words, heading, limit)
    if len(found) < limit:
        known = {(one.page, one.anchor) for one in found}
        more = _ask(" OR ", words, heading, limit)
        found += [one for one in more if (one.page, one.anchor) not in known]
    return found[:limit]


def _ask(joint: str, words: list[str], heading: str, limit: int) -> list[Hit]:
    connection, lock = _index()
    mistakes = 1.0 if _CODE.fullmatch(heading) else 0.5
    asked = joint.join(f'"{word}"' for word in words)
    with lock:
        rows = connection.execute(_FIND, (asked, heading, mistakes, limit)).fetchall()
    return [Hit(*row) for row in rows]


@cache
def _index() -> tuple[sqlite3.Connection, threading.Lock]:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(_TABLE)
    pages = read_pages()
    rows = [
        _row(pages[page].title, section) for page in pages for section in pages[page].sections()
    ]
    connection.executemany("INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?)", rows)
    return connection, threading.Lock()


def _row(title: str, section: Section) -> tuple[str, str, str, str, str, str]:
    """Return a row; names such as rateLimit are found by their words, too."""
    names = " ".join({*_NAME.findall(section.text)})
    names = re.sub("(?=[A-Z])", " ", names)
    return title, section.heading, section.text, names, section.page, section.anchor
