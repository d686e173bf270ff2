"""The entries of functions, for all expressions and for queries only."""

from __future__ import annotations

from typing import Final

from bbops.language.expressions.related import RELATED_WORDS, WINDOWS
from bbops.language.reference._entry import Entry, QueryExample, ValueExample
from bbops.language.reference.filters import arguments_of, gives_of
from bbops.language.steps._aggregate import FUNCTIONS_OF
from bbops.runtime.values.filters import FUNCTIONS
from bbops.runtime.values.filters._registry import Function

ROWS: Final = {
    "authors": ({"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}),
    "books": (
        {"id": 1, "author_id": 1, "title": "Alpha", "price": 10},
        {"id": 2, "author_id": 1, "title": "Beta", "price": 20},
        {"id": 3, "author_id": 2, "title": "Gamma", "price": 20},
    ),
}
"""The rows of the examples of queries."""

_SUMMARIES: Final = {
    "exists": "Whether there is such a row.",
    "count": "How many rows there are; with a condition, how many meet it.",
    "countDistinct": "How many different values there are; null does not count.",
    "sum": "The sum of the values, 0 where there are none.",
    "avg": "The average of the values, null where there are none.",
    "min": "The least of the values, null where there are none.",
    "max": "The greatest of the values, null where there are none.",
    "first": "The value of the first row in the order of the key, null where there is none.",
    "last": "The value of the last row in the order of the key, null where there is none.",
    "list": "The values of the rows, as a list.",
    "rank": "The place of the row in an order, from 1 on; ties share one.",
    "rowNumber": "The place of the row in an order, from 1 on; ties go by the key.",
}
"""Results of the functions of queries, in words."""

_OF_AUTHORS: Final = {
    "exists": ("exists(books, price > 10)", (True, True)),
    "count": ("count(books, price > 10)", (1, 1)),
    "sum": ("sum(books, price)", (30, 20)),
    "avg": ("avg(books, price)", (15.0, 20.0)),
    "min": ("min(books, title)", ("Alpha", "Gamma")),
    "max": ("max(books, title)", ("Beta", "Gamma")),
    "first": ("first(books, title)", ("Alpha", "Gamma")),
    "last": ("last(books, title)", ("Beta", "Gamma")),
    "list": ("list(books, title)", (["Alpha", "Beta"], ["Gamma"])),
}
_OF_GROUPS: Final = {
    "count": ("count(price > 10)", (1, 1)),
    "countDistinct": ("countDistinct(price)", (2, 1)),
    "sum": ("sum(price)", (30, 20)),
    "avg": ("avg(price)", (15.0, 20.0)),
    "min": ("min(title)", ("Alpha", "Gamma")),
    "max": ("max(title)", ("Beta", "Gamma")),
}
_OF_BOOKS: Final = {
    "rank": ("rank(price.desc)", (3, 1, 1)),
    "rowNumber": ("rowNumber(price.desc)", (3, 2, 1)),
}
_DECIMALS: Final = {
    "sum": "The sum of a decimal column is an exact decimal.",
    "avg": "The average of a decimal column is a decimal with 6 places.",
}


def function_entries() -> tuple[Entry, ...]:
    """Return an entry for each function."""
    plain = [_plain(name, declared) for name, declared in FUNCTIONS.items()]
    return (*plain, *map(_of_queries, _SUMMARIES))


def _plain(name: str, of: Function) -> Entry:
    arguments, gives = arguments_of(name, of, hidden=int(of.needs_host)), gives_of(of.gives)
    written = f"{name}({', '.join(map(str, arguments))}) → {gives}"
    return Entry(
        "function",
        name,
        name,
        written,
        of.summary,
        "",
        arguments,
        gives,
        ValueExample(*of.example),
    )


def _of_queries(name: str) -> Entry:
    words = [every[name] for every in (RELATED_WORDS, FUNCTIONS_OF, WINDOWS) if name in every]
    examples = [
        *([QueryExample("authors", *_OF_AUTHORS[name])] if name in RELATED_WORDS else []),
        *([QueryExample("values", *_OF_GROUPS[name])] if name in FUNCTIONS_OF else []),
        *([QueryExample("books", *_OF_BOOKS[name])] if name in WINDOWS else []),
    ]
    return Entry(
        "function", name, name, "\n".join(words), _SUMMARIES[name],
        gives=words[0].partition(" → ")[2], decimals=_DECIMALS.get(name, ""),
        columns="Runs in a query, in the database.", query_examples=tuple(examples),
    )  # fmt: skip
