"""`find` with `after`: pages, one after the other, are the whole list; cursors are not forged."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbops.base.errors import ProjectError
from bbops.compiler.compile.release import build
from bbops.runtime.data.pages import KEY_VARIABLE, MAX_CURSOR
from bbops.source.tree import MemoryTree
from tests.conftest import NOTES, with_function
from tests.support.postgres import ON_SQLITE, SLOW_DATABASES, place_of
from tests.support.workbench import Bench

FILES = {
    "tables/notes.yaml": NOTES,
    "tables/teams.yaml": """
columns:
  id: { type: uuid, primaryKey: true }
  name: { type: string }
  secret: { type: string, private: true, default: x }
""",
    "tables/items.yaml": """
columns:
  a: { type: integer, primaryKey: false }
  b: { type: string }
  team_id: { type: uuid, nullable: true, references: teams.id }
  i: { type: integer, nullable: true }
  n: { type: number, nullable: true }
  s: { type: string, nullable: true }
  t: { type: text, nullable: true }
  d: { type: decimal, nullable: true }
  w: { type: datetime, nullable: true }
  f: { type: boolean, nullable: true }
  k: { type: integer }
  j: { type: json, nullable: true }
primaryKey: [a, b]
indexes: { by_k: { columns: [k, a, b] } }
""",
}
TEAMS = ["00000000-0000-4000-8000-00000000000" + digit for digit in "123"]
COLUMNS = ["a", "b", "team_id", "i", "n", "s", "t", "d", "w", "f", "k", "team.name", "team.id"]
LONG = "long " * 40
ROWS = st.lists(
    st.fixed_dictionaries({
        "a": st.integers(0, 3), "b": st.text("xy\1", max_size=2),
        "team_id": st.none() | st.sampled_from(TEAMS),
        "i": st.none() | st.sampled_from([-(2**63), -1, 0, 2**63 - 1]),
        "n": st.none() | st.sampled_from([0.1, 1e300, -5e-324, 3.0]),
        "s": st.none() | st.sampled_from(["", "a", "Z", "é", "日本", LONG, LONG + "b", LONG + "a"]),
        "t": st.none() | st.sampled_from(["a" * 100, "a" * 101, "a\1" * 90, "a\1" * 91]),
        "d": st.none() | st.sampled_from(["1.0", "1.00", "-10", "9.5"]),
        "w": st.none() | st.sampled_from(["2026-01-01T00:00:00Z", "0999-01-01T00:00:00Z"]),
        "f": st.none() | st.booleans(), "k": st.integers(0, 2), "j": st.none(),
    }),
    max_size=12, unique_by=lambda row: (row["a"], row["b"]),
)  # fmt: skip
ORDERS = st.lists(
    st.tuples(st.sampled_from(COLUMNS), st.sampled_from(["asc", "desc"])),
    max_size=3, unique_by=lambda part: part[0],
).map(lambda parts: [f"{name}.{way}" for name, way in parts])  # fmt: skip
KEY = {KEY_VARIABLE: "the key of one server"}
SLOW = settings(
    max_examples=60, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with place_of(request, tmp_path_factory.mktemp("pages")) as place, Bench(place, FILES) as found:
        for at, team in enumerate(TEAMS):
            found.sql("INSERT INTO teams (id, name) VALUES (?, ?)", team, "ab"[at % 2])
        yield found


def fill(bench: Bench, rows: list[dict[str, Any]]) -> None:
    bench.run(
        "input: { rows: json }\nsteps:\n  - delete: { table: items, where: true }\n"
        '  - insert: { table: items, data: "${ input.rows }" }\n',
        {"rows": rows},
    )


SORTS = [f"{name}.{way}" for name, way in product(COLUMNS, ["asc", "desc"])]


def function(order: str, more: str = "", sorts: Sequence[str] = SORTS) -> str:
    """Return a function that gives the whole list, and one page of it."""
    return f"""
query:
  cursor?: string
  size?: integer
  sort?: {{ type: string, enum: [{", ".join(sorts)}] }}
steps:
  - find: {{ table: items, select: {{ a: a, b: b }}, orderBy: {order} {more} }}
    as: all
  - find:
      table: items
      select: {{ a: a, b: b }}
      orderBy: {order}
      limit: ${{ query.size | default(3) }}
      after: ${{ query.cursor }}
      {more.lstrip(", ")}
    as: page
  - return: {{ value: {{ all: "${{ vars.all }}", page: "${{ vars.page }}" }} }}
"""


@dataclass
class Walk:
    """Asks for one page after the other."""

    bench: Bench
    text: str
    size: int
    sort: str = ""

    def page(self, cursor: str | None) -> dict[str, Any]:
        query = f"size={self.size}" + (f"&cursor={cursor}" if cursor else "")
        found: dict[str, Any] = self.bench.run(self.text, query=f"{query}{self.sort}")
        return found

    def all(self) -> tuple[list[Any], list[Any]]:
        """Return the whole list, and the pages joined."""
        rows: list[Any] = []
        cursor = None
        for number in count():
            found = self.page(cursor)
            page, cursor = found["page"]["rows"], found["page"]["next"]
            assert len(page) == self.size or cursor is None
            assert cursor is None or (page and len(cursor) <= MAX_CURSOR)
            rows += page
            if cursor is None:
                return found["all"], rows
            assert number < 100
        raise AssertionError


@pytest.mark.long
@SLOW
@given(rows=ROWS, order=ORDERS, size=st.integers(1, 5))
def test_pages_joined_are_the_whole_list(
    rows: list[dict[str, Any]], order: list[str], size: int, bench: Bench
) -> None:
    fill(bench, rows)
    whole, joined = Walk(bench, function(str(order)), size).all()
    assert joined == whole
    assert len(whole) == len(rows)


@pytest.mark.long
@settings(SLOW, max_examples=25)
@given(rows=ROWS, sort=st.sampled_from(SORTS))
def test_pages_of_an_order_that_the_request_chooses_are_the_whole_list(
    rows: list[dict[str, Any]], sort: str, bench: Bench
) -> None:
    fill(bench, rows)
    text = function("\"${ query.sort | default('a.asc') }\"")
    whole, joined = Walk(bench, text, 2, f"&sort={sort}").all()
    assert joined == whole


@settings(SLOW, max_examples=25)
@given(rows=ROWS, order=ORDERS)
def test_pages_of_some_rows_are_the_list_of_these_rows(
    rows: list[dict[str, Any]], order: list[str], bench: Bench
) -> None:
    fill(bench, rows)
    where = ', where: "i != null and (f == null or f) and n != null"'
    whole, joined = Walk(bench, function(str(order), where), 2).all()
    assert joined == whole
    assert len(whole) == sum(
        row["i"] is not None and row["f"] is not False and row["n"] is not None for row in rows
    )


def row(at: int, **values: Any) -> dict[str, Any]:
    return {"a": at, "b": "b", "k": at % 3} | values


def test_rows_that_come_and_go_move_no_other_row(bench: Bench) -> None:
    fill(bench, [row(at, s=f"{LONG}{at}") for at in range(6)])
    walk = Walk(bench, function("s.asc"), 2)
    first = walk.page(None)["page"]
    bench.sql("DELETE FROM items WHERE a = 0 RETURNING 1")
    bench.sql("INSERT INTO items (a, b, k, s) VALUES (9, 'b', 1, 'before') RETURNING 1")
    second = walk.page(first["next"])["page"]
    assert [each["a"] for each in second["rows"]] == [2, 3]


def test_a_long_text_is_not_skipped_when_its_row_is_gone(bench: Bench) -> None:
    fill(bench, [row(at, s=f"{LONG}{at}") for at in range(6)])
    walk = Walk(bench, function("s.asc"), 2)
    first = walk.page(None)["page"]
    bench.sql("DELETE FROM items WHERE a = 1 RETURNING 1")
    second = walk.page(first["next"])["page"]
    assert [each["a"] for each in second["rows"]] == [0, 2]  # once more, rather than never


def ask(bench: Bench, text: str, query: str, key: str = "the key of one server") -> Any:
    client = bench.client(text)
    run = client.release.answering.make_run
    run.env = {**run.env, KEY_VARIABLE: key}
    return bench.ask(client, query=query)


def test_only_a_cursor_of_this_list_is_taken(bench: Bench) -> None:
    fill(bench, [row(at) for at in range(6)])
    text = function("k.asc")
    cursor = ask(bench, text, "").json["page"]["next"]
    assert ask(bench, text, f"cursor={cursor}").status == 200
    raw = urlsafe_b64decode(cursor + "==")
    changed = [
        "x", "=", "%C3%A9", f"{cursor}!", "x" * (MAX_CURSOR + 1), cursor + "A", cursor[:-1],
        *(urlsafe_b64encode(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]).decode().rstrip("=")
          for at in range(len(raw))),
    ]  # fmt: skip
    refused = [ask(bench, text, f"cursor={one}") for one in changed]
    refused.append(ask(bench, text, f"cursor={cursor}", key="another server's key"))
    refused.append(ask(bench, function("k.desc"), f"cursor={cursor}"))
    refused.append(ask(bench, text.replace("as: page", "as: pages").replace(
        "vars.page }", "vars.pages }"), f"cursor={cursor}"))  # fmt: skip
    assert {(one.status, one.json["error"]["code"]) for one in refused} == {(400, "invalidCursor")}


def test_a_cursor_is_for_the_order_that_it_was_made_in(bench: Bench) -> None:
    fill(bench, [row(at) for at in range(6)])
    text = function("\"${ query.sort | default('a.asc') }\"")
    cursor = ask(bench, text, "sort=k.asc").json["page"]["next"]
    assert ask(bench, text, f"sort=k.asc&cursor={cursor}").status == 200
    assert ask(bench, text, f"sort=k.desc&cursor={cursor}").status == 400


@pytest.mark.parametrize("sort", ["j.asc", "team.secret.asc", "k", "k.up", "team.asc", "k.asc--"])
def test_a_request_orders_by_nothing_else(sort: str, bench: Bench) -> None:
    text = function("\"${ query.sort | default('a.asc') }\"", sorts=["k.asc", sort])
    with pytest.raises(ProjectError) as refused:
        bench.client(text)
    assert f"'{sort}', which this may be, is not an order" in str(refused.value)


@ON_SQLITE
def test_a_page_begins_where_an_index_finds_it(bench: Bench) -> None:
    fill(bench, [row(at) for at in range(6)])
    text = function("k.desc").replace("{ a: a, b: b }", "[a]")
    statements = [one for one in bench.client(text).release.statements() if '"k" <=' in one]
    (plan,) = bench.sql(f"EXPLAIN QUERY PLAN {statements[0]}", *[""] * 5, 1)
    assert "SEARCH items USING" in plan[3]
    assert "by_k (k<?)" in plan[3]


def test_pages_tell_the_total_too(bench: Bench) -> None:
    fill(bench, [row(at) for at in range(6)])
    found = Walk(bench, function("k.asc", ", withTotal: true"), 4).page(None)["page"]
    assert (len(found["rows"]), found["total"], found["next"] is None) == (4, 6, False)


def test_only_a_project_with_pages_has_a_key_for_cursors() -> None:
    with_pages = build(MemoryTree(with_function(function("k.asc")) | FILES)).artifact
    without = build(MemoryTree(with_function("steps: [log: { message: a }]\n") | FILES)).artifact
    assert KEY_VARIABLE.encode() in with_pages
    assert KEY_VARIABLE.encode() not in without
