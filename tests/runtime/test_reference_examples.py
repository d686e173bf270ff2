"""Every example of the reference gives the result that it shows, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.language.reference import (
    DatabaseDifference,
    QueryExample,
    Sample,
    ValueExample,
    read_reference,
)
from bbops.language.shape import TYPES
from tests.support.postgres import DATABASES, place_of
from tests.support.reference import FILES, insert_rows, select_books, store_and_read
from tests.support.workbench import Bench

ENTRIES = [one for group in read_reference().values() for one in group.values()]
EXAMPLES = [
    pytest.param(example, id=f"{one.group} {one.name}: {example.expression}")
    for one in ENTRIES if one.group != "filter"
    for example in filter(None, [one.example])
] + [
    pytest.param(example, id=f"{one.group} {one.name}: {example.expression}")
    for one in ENTRIES for example in one.decimal_examples
]  # fmt: skip
"""Examples of filters run in tests/runtime/test_filters_through_the_compiler.py instead."""
SAMPLES = [
    pytest.param(sample, id=f"{one.group} {one.name}: {sample.given} {sample.expression}")
    for one in ENTRIES for sample in one.samples if sample.column_type not in {"email", "url"}
]  # fmt: skip
FIELDS = [
    pytest.param(sample, id=f"{one.name}: {sample.given}")
    for one in read_reference()["type"].values() if one.name in TYPES
    for sample in one.samples
]  # fmt: skip
QUERIES = [
    pytest.param(example, id=f"{one.name} of {example.place}")
    for one in ENTRIES for example in one.query_examples
]  # fmt: skip
DIFFERENCES = [
    pytest.param(one.difference, id=f"{one.group} {one.name}")
    for one in ENTRIES if one.difference is not None and one.difference.sample is not None
]  # fmt: skip


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with place_of(request, tmp_path_factory.mktemp("bench")) as place, Bench(place, FILES) as found:
        insert_rows(found)
        yield found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder: Path = tmp_path_factory.mktemp("plain")
    with Bench(folder, {}) as found:
        yield found


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_gives_its_result(plain: Bench, example: ValueExample) -> None:
    text = f"steps:\n  - return:\n      value: |-\n        ${{ {example.expression} }}\n"
    assert is_same(plain.run(text), example.result)


@pytest.mark.parametrize("sample", FIELDS)
def test_a_field_of_a_shape_takes_and_answers_the_values_of_its_type(
    plain: Bench, sample: Sample
) -> None:
    text = (
        f"input: {{ value: {sample.column_type} }}\n"
        'steps: [return: { value: { found: "${ input.value }" } }]\n'
    )
    reply = plain.ask(plain.client(text), {"value": sample.given})
    found = reply.json["found"] if reply.status < 300 else reply.status
    assert found == sample.result


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_column_gives_the_same_on_both_databases(bench: Bench, sample: Sample) -> None:
    found = store_and_read(bench, sample.column_type, sample.given, sample.expression)
    assert is_same(found, sample.result)


@pytest.mark.parametrize("example", QUERIES)
def test_a_function_of_queries_gives_its_results(bench: Bench, example: QueryExample) -> None:
    found = select_books(bench, example.place, example.expression)
    assert found == list(example.results)


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_the_databases_differ_as_the_entry_says(
    bench: Bench, difference: DatabaseDifference
) -> None:
    sample = difference.sample
    assert sample is not None
    wanted = sample.result if bench.database == "sqlite" else difference.on_postgres
    assert wanted in {sample.result, difference.on_postgres}
    found = store_and_read(bench, sample.column_type, sample.given, sample.expression)
    assert is_same(found, wanted)


def test_a_difference_has_two_results() -> None:
    shown = [one.values[0] for one in DIFFERENCES]
    assert shown
    assert all(one.sample.result != one.on_postgres for one in shown)


def is_same(found: Any, wanted: Any) -> bool:
    """Return whether two values are equal and of one type: 5 is not 5.0, and 1 is not true."""
    return type(found) is type(wanted) and bool(found == wanted)
