"""Search the sections of the documentation: an index in memory, built by the first search."""

from __future__ import annotations

import re
import sqlite3
import threading
from dataclasses import dataclass
from functools import cache
from typing import Final

from bbops.interfaces.mcp.handbook import Section, read_pages

MAX_WORDS: Final = 16
_WORD: Final = re.compile(r"\w+")
_NAME: Final = re.compile(r"\b[a-z]+(?:[A-Z][a-z]+)+\b")
_CODE: Final = re.compile(r"[a-z]+(?:-[a-z]+)+")
_STOP_WORDS: Final = frozenset({
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
    " bm25(sections, 6.0, 4.0, 1.0, 1.0) * iif(page LIKE 'errors/%', ?, 1) LIMIT ?"
)
"""Order by an equal heading first, then by relevance; pages about errors come later."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A matching section, with a snippet around the matching words."""

    title: str
    heading: str
    page: str
    anchor: str
    snippet: str


def search(query: str, limit: int) -> list[Hit]:
    """Return the best matching sections, best first.

    Sections with every word come first; a query without words has no matches. Blocks for about a
    millisecond, the first time for about 100.
    """
    words = [word for word in _WORD.findall(query.lower()) if word not in _STOP_WORDS][:MAX_WORDS]
    if not words:
        return []
    heading = query.strip(" []'`")
    hits = _select(" AND ", words, heading, limit)
    if len(hits) < limit:
        known = {(hit.page, hit.anchor) for hit in hits}
        more = _select(" OR ", words, heading, limit)
        hits += [hit for hit in more if (hit.page, hit.anchor) not in known]
    return hits[:limit]


def _select(operator: str, words: list[str], heading: str, limit: int) -> list[Hit]:
    connection, lock = _index()
    error_weight = 1.0 if _CODE.fullmatch(heading) else 0.5
    match = operator.join(f'"{word}"' for word in words)
    with lock:
        rows = connection.execute(_FIND, (match, heading, error_weight, limit)).fetchall()
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
    """Return a row; names such as rateLimit are also found by their words."""
    names = " ".join({*_NAME.findall(section.text)})
    names = re.sub("(?=[A-Z])", " ", names)
    return title, section.heading, section.text, names, section.page, section.anchor
