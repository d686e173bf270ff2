"""The reference has every type, operator, filter, function and date letter of the language."""

from __future__ import annotations

from typing import get_args

import pytest

from bbops.database.postgres.ddl import PostgresDdl
from bbops.database.sqlite.ddl import SqliteDdl
from bbops.interfaces.mcp.search import search
from bbops.language.expressions.nodes import Binary, Choice, Compare, ItemAccess, Logic, Unary, walk
from bbops.language.expressions.related import RELATED_WORDS, WINDOWS
from bbops.language.expressions.syntax import parse
from bbops.language.reference import Entry, read_reference
from bbops.language.reference.filters import DURATIONS, LETTERS
from bbops.language.resources.table import ColumnType
from bbops.language.shape import _RULES as SHAPE_RULES
from bbops.language.shape import TYPES
from bbops.language.sql.filters import COLUMN_FILTERS
from bbops.language.steps._aggregate import FUNCTIONS_OF
from bbops.runtime.values import times
from bbops.runtime.values.filters import FILTERS, FUNCTIONS

REFERENCE = read_reference()
ENTRIES = [one for group in REFERENCE.values() for one in group.values()]
COLUMN_TYPES = get_args(ColumnType)
ALL_OPERATORS = (
    "a == b and a != b and a < b or a <= b and a > b and a >= b and a in b and a not in b "
    "and not (a + b - c * d / e % f if g else h[0])"
)


def test_every_type_of_columns_and_shapes_has_an_entry() -> None:
    assert set(REFERENCE["type"]) == {*COLUMN_TYPES, *TYPES}


def test_every_operator_of_the_syntax_has_an_entry() -> None:
    found = set()
    for node in walk(parse(ALL_OPERATORS)):
        if isinstance(node, Binary | Compare | Logic | Unary):
            found.add(node.op)
        elif isinstance(node, Choice | ItemAccess):
            found.add("if" if isinstance(node, Choice) else "[]")
    assert set(REFERENCE["operator"]) == found | {".", "?.", "|", "=>"}


def test_every_filter_and_function_has_an_entry() -> None:
    assert set(REFERENCE["filter"]) == set(FILTERS)
    wanted = {*FUNCTIONS, *RELATED_WORDS, *WINDOWS, *FUNCTIONS_OF}
    assert set(REFERENCE["function"]) == wanted


def test_every_date_letter_and_unit_of_durations_is_listed() -> None:
    assert set(LETTERS) == set(times._LETTERS)
    assert all(times.read_step(f"3{unit}") == (3, unit) for unit in DURATIONS)
    assert set(DURATIONS) == {*times._STEPS, "mo", "y"}


def test_every_filter_of_columns_has_an_example_on_a_column() -> None:
    shown = {name for name, one in REFERENCE["filter"].items() if one.samples}
    assert shown == COLUMN_FILTERS


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: f"{one.group} {one.name}")
def test_an_entry_has_a_signature_a_sentence_and_an_example(entry: Entry) -> None:
    assert entry.signature
    assert entry.summary.endswith(".")
    assert entry.gives
    assert entry.example or entry.samples or entry.query_examples


@pytest.mark.parametrize("name", COLUMN_TYPES)
def test_a_type_is_stored_as_its_entry_says(name: str) -> None:
    wanted = {"SQLite": SqliteDdl().storage(name), "PostgreSQL": PostgresDdl().storage(name)}
    assert REFERENCE["type"][name].storage == wanted


@pytest.mark.parametrize("name", TYPES)
def test_a_type_names_the_rules_that_its_fields_take(name: str) -> None:
    summary = REFERENCE["type"][name].summary
    taken = {rule for rule, types in SHAPE_RULES.items() if name in types}
    assert {rule for rule in taken if f"`{rule}`" not in summary} == set()


def test_a_type_of_shapes_only_is_not_stored() -> None:
    assert {name for name, one in REFERENCE["type"].items() if one.storage is None} == (
        set(TYPES) - set(COLUMN_TYPES)
    )


@pytest.mark.parametrize(
    ("query", "page", "heading"),
    [
        ("decimal type", "language/types.md", "decimal"),
        ("date letters", "language/filters.md", "date"),
        ("operator not in", "language/operators.md", "Not a member (not in)"),
        ("countDistinct", "language/functions.md", "countDistinct"),
    ],
)
def test_the_docs_search_of_agents_finds_an_entry(query: str, page: str, heading: str) -> None:
    found = [(hit.page, hit.heading) for hit in search(query, 5)]
    assert (page, heading) in found, found
