"""find on a real database file: which rows, in which order, by which index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.items import FAR, FILES, find, names
from tests.support.postgres import DATABASES, ON_SQLITE, place_of
from tests.support.workbench import Bench


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, FILES) as found:
        yield found


SELECT = "select: [name]"


# ---- where


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("true", "ant bee Cat dog eel"),
        ("false", ""),
        ("id == 1", "ant"),
        ("id != 1", "bee Cat dog eel"),
        ("not (id == 1 or id == 2)", "Cat dog eel"),
        ("size == null", "bee eel"),
        ("size != null", "ant Cat dog"),
        ("null == size", "bee eel"),
        ("size == 3", "ant dog"),
        ("size != 3", "bee Cat eel"),
        ("size != null and size > 1", "ant dog"),
        ("not (size != null and size > 1)", "bee Cat eel"),
        ("(size != null and size > 1) == false", "bee Cat eel"),
        ("size in [1, 3]", "ant Cat dog"),
        ("size not in [1, 3]", "bee eel"),
        ("size in [1, null]", "bee Cat eel"),
        ("size not in [1, null]", "ant dog"),
        ("size in []", ""),
        ("size not in []", "ant bee Cat dog eel"),
        ("name in ['ant', 'Cat']", "ant Cat"),
        ("done", "Cat"),
        ("not done", "ant bee dog eel"),
        ("done == (id == 3)", "ant bee Cat dog eel"),
        ("name < 'b'", "ant Cat"),
        ("name | lower > 'b'", "bee Cat dog eel"),
        ("(name | upper) == 'ANT'", "ant"),
        ("name | contains('e')", "bee eel"),
        ("name | startsWith('e') or (name | endsWith('g'))", "dog eel"),
        ("(name | length) == id + 2", "ant"),
        ("name | slice(1, 3) == 'og'", "dog"),
        ("name | replace('e', 'o') == 'boo'", "bee"),
        ("size | default(7) > 5", "bee eel"),
        ("id / 2 == 1.5", "Cat"),
        ("id / 2 > 1", "Cat dog eel"),
        ("id % 2 == 0", "bee dog"),
        ("-id % 3 == -1", "ant dog"),
        ("(id * 1.5) % 1 == 0.5", "ant Cat eel"),
        ("id - 1 + 2 * 3 == 7", "bee"),
        ("-id < -4", "eel"),
        ("name + '!' == 'ant!'", "ant"),
        ("(id | toString) == '2'", "bee"),
        ("(done | toString) == 'true'", "Cat"),
        ("(id if done else 0) == 3", "Cat"),
        ("(1 if true else id) == 1", "ant bee Cat dog eel"),
        ("price == 1.5", "ant"),
        ("price == 10", "bee"),
        ("price != null and price > 2", "bee dog"),
        ("price != null and (price < 0 or price >= 10)", "bee eel"),
        ("not (price == null) and 2 < price", "bee dog"),
        ("price in [1.5, 10]", "ant bee"),
        ("price in [9.50, null]", "Cat dog"),
        ("id in range(3)", "ant bee"),
        ("price != null and price in range(11)", "bee"),
        ("price != null and price not in range(11)", "ant dog eel"),
        ("created_at <= now()", "ant bee Cat dog eel"),
        ("created_at > (now() | add('1h'))", ""),
        ("(id | min(3)) == 3", "Cat dog eel"),
        ("(id | clamp(2, 4)) == 2", "ant bee"),
        ("row.id == 1 or row.name == name and id == 2", "ant bee"),
        ("id == 1 and name == 'ant' and not done and size == 3", "ant"),
    ],
)
def test_where_finds_what_it_says(where: str, found: str, bench: Bench) -> None:
    text = find(f'where: "{where}", {SELECT}, orderBy: id')
    bench.host.clock.moment = FAR  # type: ignore[attr-defined]
    assert names(bench.run(text)) == found.split()


OPTIONAL = "query: { name?: string, size?: integer, ids?: 'integer[]', done?: boolean }\n"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "ant bee Cat dog eel"),
        ("name=ant", "ant"),
        ("size=3", "ant dog"),
        ("size=3&name=dog", "dog"),
        ("ids=1&ids=5", "ant eel"),
        ("done=true", "Cat"),
        ("done=false&size=1", ""),
    ],
)
def test_an_optional_filter_counts_only_when_it_is_given(
    query: str, found: str, bench: Bench
) -> None:
    parts = (
        "query.name == null or name == query.name",
        "query.size == null or size == query.size",
        "query.ids == null or id in query.ids",
        "query.done == null or done == query.done",
    )
    where = " and ".join(f"({part})" for part in parts)
    function = find(f'where: "{where}", {SELECT}, orderBy: id', OPTIONAL)
    assert names(bench.run(function, query=query)) == found.split()


@ON_SQLITE
def test_what_is_pruned_is_not_in_the_statement(bench: Bench) -> None:
    client = bench.client(find("where: query.name == null or name == query.name", OPTIONAL))
    texts = list(client.release.statements())
    assert any("WHERE 1 ORDER" in text for text in texts)
    assert any('"items"."name" IS ?' in text for text in texts)


def test_a_value_of_a_pruned_part_is_never_computed(bench: Bench) -> None:
    head = "input: { x?: json? }\n"
    function = find(f"where: input.x == null or size == input.x.y.z * 2, {SELECT}", head)
    assert len(bench.run(function, {"x": None})) == 5
    assert bench.run(function, {"x": {"y": {"z": 1.5}}}) == [{"name": "ant"}, {"name": "dog"}]


@pytest.mark.parametrize("given", ["no", 1, [], {}, None])
def test_a_condition_from_outside_must_be_true_or_false(given: Any, bench: Bench) -> None:
    """Else a text such as 'no' would stand for every row."""
    client = bench.client(find("where: input.all or id == 1", "input: { all: json? }\n"))
    assert bench.ask(client, {"all": given}).status == 400
    assert len(bench.ask(client, {"all": True}).json) == 5
    assert len(bench.ask(client, {"all": False}).json) == 1


@pytest.mark.parametrize("given", [5, True, ["ant"], {"a": 1}])
def test_a_value_of_another_kind_is_refused(given: Any, bench: Bench) -> None:
    client = bench.client(find("where: name == input.x", "input: { x: json? }\n"))
    assert bench.ask(client, {"x": given}).status == 400
    assert bench.ask(client, {"x": "ant"}).status == 200


# ---- order, limit, offset, one


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("name", "Cat ant bee dog eel"),
        ("name.desc", "eel dog bee ant Cat"),
        ("size.asc", "Cat ant dog bee eel"),
        ("size.desc", "dog ant Cat eel bee"),
        ("[done.desc, size.asc]", "Cat ant dog bee eel"),
        ("[size, id.desc]", "Cat dog ant eel bee"),
        ("price", "eel ant dog bee Cat"),
        ("price.desc", "bee dog ant eel Cat"),
        ("created_at.desc", "eel dog Cat bee ant"),
    ],
)
def test_order_puts_null_last_and_ends_with_the_key(order: str, found: str, bench: Bench) -> None:
    assert names(bench.run(find(f"orderBy: {order}, {SELECT}"))) == found.split()


SORT = "query: { sort: { type: string, enum: [name.asc, size.desc] } }\n"


def test_order_may_come_from_a_request(bench: Bench) -> None:
    function = find("orderBy: '${ query.sort }', limit: 2, select: [name]", SORT)
    assert names(bench.run(function, query="sort=size.desc")) == ["dog", "ant"]


def test_a_request_chooses_among_the_orders_that_its_shape_names(bench: Bench) -> None:
    client = bench.client(find("orderBy: '${ query.sort }'", SORT))
    assert bench.ask(client, query="sort=price.asc").status == 400


@pytest.mark.parametrize(
    "sort", ["name", "nope.asc", "name.up", "name.asc;--", "1", "done.desc, id"]
)
def test_what_a_request_orders_by_is_a_column_and_a_direction(sort: str, bench: Bench) -> None:
    client = bench.client(find("orderBy: '${ input.sort }'", "input: { sort: json }\n"))
    assert bench.ask(client, {"sort": sort}).status == 400


def test_limit_and_offset_make_pages(bench: Bench) -> None:
    function = find("limit: 2, offset: '${ query.at }', select: [name]", "query: { at: integer }\n")
    pages = [names(bench.run(function, query=f"at={at}")) for at in (0, 2, 4, 6)]
    assert pages == [["ant", "bee"], ["Cat", "dog"], ["eel"], []]


@pytest.mark.parametrize("limit", [-1, 1.5, "2", None, 2**70, True])
def test_a_limit_that_is_no_count_fails(limit: Any, bench: Bench) -> None:
    client = bench.client(find("limit: '${ input.n }'", "input: { n: json? }\n"))
    assert bench.ask(client, {"n": limit}).status == 400


def test_a_list_has_at_most_a_thousand_rows_unless_it_says_more(bench: Bench) -> None:
    bench.sql('INSERT INTO pairs ("left", "right") WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL '
              "SELECT i + 1 FROM n WHERE i < 1500) SELECT i, 'x' FROM n RETURNING 1")  # fmt: skip
    function = find("select: [left]").replace("items", "pairs")
    assert len(bench.run(function)) == 1000
    assert len(bench.run(function.replace("select", "limit: 1200, select"))) == 1200


def test_one_gives_the_first_row_or_null(bench: Bench) -> None:
    assert bench.run(find(f"where: size == 3, orderBy: id.desc, one: true, {SELECT}")) == {
        "name": "dog"
    }
    assert bench.run(find("where: id == 99, one: true")) is None


def test_one_required_answers_404(bench: Bench) -> None:
    assert bench.ask(bench.client(find("where: id == 99, one: required"))).status == 404


# ---- indexes


@ON_SQLITE
@pytest.mark.parametrize(
    ("where", "plan"),
    [
        ("id == input.x", "SEARCH items USING INTEGER PRIMARY KEY (rowid=?)"),
        ("name == input.y", "SEARCH items USING INDEX"),
        ("name in ['a', 'b']", "SEARCH items USING INDEX"),
        ("name in input.list", "SEARCH items USING INDEX"),
        (
            "id == input.x and (input.y == null or size == 3)",
            "SEARCH items USING INTEGER PRIMARY KEY",
        ),
        ("id > input.x and not done", "SEARCH items USING INTEGER PRIMARY KEY (rowid>?)"),
    ],
)
def test_a_search_uses_the_index_of_its_column(where: str, plan: str, bench: Bench) -> None:
    head = "input: { x: integer, y: string, list: 'string[]' }\n"
    for text in bench.client(find(f'where: "{where}"', head)).release.statements():
        rows = bench.sql(f"EXPLAIN QUERY PLAN {text}", *[None] * text.count("?"))
        assert any(plan in row[3] for row in rows), rows
