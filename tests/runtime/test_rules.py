"""Rules of tables: who sees which rows, and who may write them, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.desk import PROJECT, TABLES, ask
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

SHOW = "  - return: ${ vars.found }\n"


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("rules")) as place,
        Bench(place, TABLES | {"project.yaml": PROJECT}) as found,
    ):  # fmt: skip
        yield found


@pytest.fixture(autouse=True)
def rows(bench: Bench) -> None:
    """User 1 has two notes, one of which is deleted; user 2 has one in a team, with user 3."""
    for table in ("notes", "members", "teams", "users"):
        bench.sql(f"DELETE FROM {table}")
    bench.sql("INSERT INTO users (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    bench.sql("INSERT INTO teams (id) VALUES (1), (2)")
    bench.sql("INSERT INTO members (id, team_id, user_id) VALUES (1, 1, 3)")
    then = "2026-01-01T00:00:00.000000Z"
    for row in (
        (101, 1, None, "mine", "one", None), (102, 1, None, "gone", "two", then),
        (103, 2, 1, "shared", "three", None),
    ):  # fmt: skip
        names = "id, user_id, team_id, title, slug, deleted_at"
        bench.sql(f"INSERT INTO notes ({names}) VALUES (?, ?, ?, ?, ?, ?)", *row)


def titles(bench: Bench) -> list[tuple[Any, ...]]:
    return bench.sql("SELECT title FROM notes ORDER BY title")


LIST = "  - find: { table: notes, select: [title], orderBy: title }\n    as: found\n" + SHOW


@pytest.mark.parametrize(
    ("user", "seen"), [(1, ["mine"]), (2, ["shared"]), (3, ["shared"]), (4, []), (None, [])]
)
def test_each_sees_what_the_rule_says(bench: Bench, user: int | None, seen: list[str]) -> None:
    assert ask(bench, LIST, user).json == [{"title": one} for one in seen]


def test_a_rule_reads_related_rows_with_their_scope(bench: Bench) -> None:
    bench.sql("UPDATE teams SET closed = (1 = 1)")
    assert ask(bench, LIST, 3).json == []


def test_a_step_looks_past_rules_with_a_reason(bench: Bench) -> None:
    past = LIST.replace("orderBy", "unscoped: { notes: audit }, orderBy")
    assert ask(bench, past).json == [{"title": "gone"}, {"title": "mine"}]
    past = LIST.replace("orderBy", "bypassAccess: { notes: audit }, orderBy")
    assert ask(bench, past, None).json == [{"title": "mine"}, {"title": "shared"}]


def test_an_order_that_a_request_chooses_keeps_to_rules(bench: Bench) -> None:
    order = (
        "  - set: { order: \"${ 'team.closed.asc' if input.data == 1 else 'title.desc' }\" }\n"
        "  - find: { table: notes, select: [title], orderBy: '${ vars.order }' }\n"
        f"    as: found\n{SHOW}"
    )
    assert ask(bench, order, 1, 1).json == [{"title": "mine"}]


def test_a_called_function_is_asked_by_the_same_user(bench: Bench) -> None:
    called = {"functions/list.yaml": "steps:\n" + LIST}
    steps = "  - call: { function: list }\n    as: found\n" + SHOW
    assert ask(bench, steps, 2, more=called).json == [{"title": "shared"}]


# ---- updates and deletes
def change(where: str, data: str, more: str = "") -> str:
    return (
        f"  - update: {{ table: notes, where: {where}, data: {data}{more} }}\n    as: found\n{SHOW}"
    )


def test_an_update_matches_what_one_sees_and_may_change(bench: Bench) -> None:
    steps = change("true", "{ title: new }")
    assert ask(bench, steps, 3).json == {"count": 0}
    assert ask(bench, steps, 1).json == {"count": 1}
    assert titles(bench) == [("gone",), ("new",), ("shared",)]


@pytest.mark.parametrize("more", ["", ", one: true"])
@pytest.mark.parametrize("data", ["{ user_id: 2 }", "'${ input.data }'"])
def test_a_row_that_one_gives_away_is_403_and_nothing_is_written(
    bench: Bench, data: str, more: str
) -> None:
    reply = ask(bench, change("id == 101", data, more), 1, {"user_id": 2})
    assert (reply.status, reply.json["error"]["code"]) == (403, "forbidden")
    assert bench.sql("SELECT user_id FROM notes WHERE id = 101") == [(1,)]


def test_an_update_gives_the_row_that_still_meets_the_rule(bench: Bench) -> None:
    steps = change(
        "id == 101", "{ user_id: '${ vars.auth?.userId | default(0) }', title: b }", ", one: true"
    )
    assert ask(bench, steps, 1).json["title"] == "b"
    assert ask(bench, change("id == 101", "'${ input.data }'"), 1, {"title": "c"}).json == {
        "count": 1
    }


def test_a_delete_sets_the_column_of_soft_deletes(bench: Bench) -> None:
    steps = "  - delete: { table: notes, where: true }\n    as: found\n" + SHOW
    assert ask(bench, steps, 3).json == {"count": 0}
    assert ask(bench, steps, 1).json == {"count": 1}
    assert titles(bench) == [("gone",), ("mine",), ("shared",)]
    assert ask(bench, LIST, 1).json == []
    purge = steps.replace("true", "deleted_at != null, unscoped: { notes: purge }")
    assert ask(bench, purge, 1).json == {"count": 2}
    assert titles(bench) == [("shared",)]


# ---- new rows
def add(data: str, more: str = "") -> str:
    return f"  - insert: {{ table: notes, data: {data}{more} }}\n    as: found\n{SHOW}"


@pytest.mark.parametrize(
    "data", ["{ user_id: 2, title: t }", "'${ input.data }'", "[{ user_id: 2, title: t }]"]
)
def test_a_new_row_of_somebody_else_is_403_and_not_written(bench: Bench, data: str) -> None:
    reply = ask(bench, add(data), 1, {"user_id": 2, "title": "t"})
    assert (reply.status, reply.json["error"]["code"]) == (403, "forbidden")
    assert len(titles(bench)) == 3


@pytest.mark.parametrize("data", ["{ user_id: 1, title: t }", "'${ input.data }'"])
def test_a_new_row_of_ones_own_is_written(bench: Bench, data: str) -> None:
    assert ask(bench, add(data), 1, {"user_id": 1, "title": "t"}).json["title"] == "t"
    assert len(titles(bench)) == 4


def test_a_batch_with_one_row_of_somebody_else_writes_nothing(bench: Bench) -> None:
    rows = [{"user_id": 1, "title": "a"}, {"user_id": 2, "title": "b"}]
    assert ask(bench, add("'${ input.data }'"), 1, rows).status == 403
    assert len(titles(bench)) == 3
    assert len(ask(bench, add("'${ input.data }'"), 1, rows[:1]).json) == 1


@pytest.mark.parametrize("do", ["update", "{ title: n }"])
def test_a_row_that_is_there_and_may_not_be_changed_is_409(bench: Bench, do: str) -> None:
    more = f", onConflict: {{ columns: [slug], do: {do} }}"
    data = "{ user_id: 1, title: t, slug: SLUG }"
    assert ask(bench, add(data.replace("SLUG", "one"), more), 1).status == 200
    assert ask(bench, add(data.replace("SLUG", "three"), more), 1).status == 409
    assert ask(bench, add(data.replace("SLUG", "two"), more), 1).status == 409  # it is deleted
    assert bench.sql("SELECT title FROM notes WHERE id = 103") == [("shared",)]


def test_an_update_on_conflict_gives_no_row_away(bench: Bench) -> None:
    more = ", onConflict: { columns: [slug], do: { user_id: 2 } }"
    assert ask(bench, add("{ user_id: 1, title: t, slug: one }", more), 1).status == 403
    assert bench.sql("SELECT user_id FROM notes WHERE id = 101") == [(1,)]


@pytest.mark.parametrize("slug", ["one", "three"])
def test_batches_obey_on_conflict(bench: Bench, slug: str) -> None:
    more = ", onConflict: { columns: [slug], do: update }"
    rows = [{"user_id": 1, "title": "t", "slug": slug}]
    assert ask(bench, add("'${ input.data }'", more), 1, rows).status == (
        200 if slug == "one" else 409
    )
    ignored = more.replace("update", "ignore")
    assert ask(bench, add("'${ input.data }'", ignored), 1, rows).json == [None]


def test_nothing_is_written_in_a_transaction_either(bench: Bench) -> None:
    steps = (
        "  - try:\n      - transaction:\n"
        "          - insert: { table: notes, data: { user_id: 1, title: a } }\n"
        "          - insert: { table: notes, data: { user_id: 2, title: b } }\n"
        "    catch:\n      - log: { message: x }\n  - return: ${ 1 }\n"
    )
    ask(bench, steps, 1)
    assert len(titles(bench)) == 3


def test_a_refused_row_that_is_caught_inside_a_transaction_is_not_written(bench: Bench) -> None:
    steps = (
        "  - transaction:\n      - try:\n"
        "          - insert: { table: notes, data: { user_id: 2, title: b } }\n"
        "        catch:\n          - insert: { table: notes, data: { user_id: 1, title: a } }\n"
        "  - return: ${ 1 }\n"
    )
    assert ask(bench, steps, 1).status == 200
    assert titles(bench) == [("a",), ("gone",), ("mine",), ("shared",)]
