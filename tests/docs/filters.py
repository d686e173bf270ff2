"""Make the pages of filters and functions from where they are declared."""

from __future__ import annotations

from bbops.interfaces.lsp.descriptions import ASKED, signature, summary
from bbops.language.expressions.related import RELATED_WORDS
from bbops.language.expressions.windows import WINDOWS
from bbops.language.sql.filters import COLUMN_FILTERS
from bbops.language.steps._aggregate import FUNCTIONS_OF
from bbops.runtime.values.filters import FILTERS, FUNCTIONS

_FILTERS = """# Filters

`value | name(arguments)` gives another value. A value that may be null is refused \
([maybe-null]({root}errors/expressions.md#maybe-null)), unless the filter takes null. In a query a \
filter of a column runs in the database, and gives the same on SQLite and PostgreSQL. \
[The overview](../language.md#expressions) says how expressions are written."""
_FUNCTIONS = """# Functions

`name(arguments)` gives a value. Those of rows, groups and places stand in the queries of \
[find](steps/find.md), which has examples, and run in the database."""
_OF_QUERIES = (
    (RELATED_WORDS, "Of the rows that refer to a row, in `where` and `select`."),
    (FUNCTIONS_OF, "Of the rows of each group, in the `values` of `aggregate`."),
    (WINDOWS, "Of a row among the others that are found, in `select`."),
)


def filters_page() -> str:
    """Return the page of the filters."""
    names = sorted(FILTERS, key=str.lower)
    return "\n\n".join([_FILTERS, _index(names), *map(_filter, names)])


def functions_page() -> str:
    """Return the page of the functions: those of any expression, and those of queries."""
    plain = {name: f"{_code(signature(name))}\n{summary(FUNCTIONS[name])}" for name in FUNCTIONS}
    names = sorted({*plain, *ASKED}, key=str.lower)
    texts = (f"## {name}\n\n{plain.get(name) or _of_queries(name)}" for name in names)
    return "\n\n".join([_FUNCTIONS, _index(names), *texts])


def _of_queries(name: str) -> str:
    told = [f"{about}\n\n{_code(words[name])}" for words, about in _OF_QUERIES if name in words]
    return "\n".join([f"{ASKED[name]}\n", *told]).rstrip()


def _filter(name: str) -> str:
    one = FILTERS[name]
    said = ["Takes null, too."] if one.accepts_null else []
    said.append("Runs on columns, too." if name in COLUMN_FILTERS else "Does not run on columns.")
    return f"## {name}\n\n{_code(signature(name))}\n{summary(one)}\n\n{' '.join(said)}"


def _index(names: list[str]) -> str:
    return ", ".join(f"[{name}](#{name.lower()})" for name in names)


def _code(text: str) -> str:
    return f"```text\n{text}\n```\n"
