"""Steps of an endpoint do what a function's do: shapes, answers, places of errors, history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.source.tree import MemoryTree
from tests.conftest import Serving, run, sample
from tests.support.postgres import DATABASES, place_of
from tests.support.raw_requests import Ask
from tests.support.workbench import Bench

TABLES = {
    "tables/authors.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n"
    "  name: { type: string }\n",
    "tables/texts.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n"
    "  title: { type: string }\n"
    "  author_id: { type: integer, references: authors.id }\n"
    "  editor_id: { type: integer, references: authors.id, nullable: true, reverse: edited }\n",
}
LIST = """
method: GET
path: /texts/:id
authentication: None
params: { id: integer }
query: { title?: string }
steps:
  - find:
      table: texts
      where: id == params.id and (query.title == null or title == query.title)
      select: { title: title, author: [id, name], editor: [name] }
      one: true
    as: found
  - return: ${ vars.found }
"""
ONE = """
steps:
  - find:
      table: texts
      select: { title: title, author: [id, name], editor: [name] }
      orderBy: id
    as: found
  - return: ${ vars.found }
"""
MANY = """
steps:
  - find:
      table: authors
      select: { name: name, texts: [id, title], edited: [{ title: title, author: [name] }] }
      orderBy: id
    as: found
  - return: ${ vars.found }
"""


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("inline")) as place,
        Bench(place, TABLES) as found,
    ):
        found.sql("INSERT INTO authors VALUES (1, 'Ada'), (2, 'Bob')")
        found.sql("INSERT INTO texts VALUES (1, 'one', 1, 2), (2, 'two', 1, NULL)")
        yield found


def test_a_list_of_columns_is_the_row_that_a_relation_leads_to(bench: Bench) -> None:
    assert bench.run(ONE) == [
        {"title": "one", "author": {"id": 1, "name": "Ada"}, "editor": {"name": "Bob"}},
        {"title": "two", "author": {"id": 1, "name": "Ada"}, "editor": None},
    ]


def test_a_list_of_columns_is_the_rows_that_a_relation_leads_to(bench: Bench) -> None:
    assert bench.run(MANY) == [
        {
            "name": "Ada", "edited": [],
            "texts": [{"id": 1, "title": "one"}, {"id": 2, "title": "two"}],
        },
        {"name": "Bob", "texts": [], "edited": [{"title": "one", "author": {"name": "Ada"}}]},
    ]  # fmt: skip


def test_what_does_not_fit_its_shapes_is_400(ask: Ask) -> None:
    files = sample(endpoints__text=LIST) | TABLES
    reply = ask(files, "GET", "/texts/one")
    assert (reply.status, [*reply.json["error"]["fields"]]) == (400, ["id"])


def test_a_failure_is_told_at_its_line_of_the_endpoint(serving: Serving) -> None:
    files = sample(
        endpoints__fails="method: GET\npath: /fails\nauthentication: None\nquery: { n: integer }\n"
        "steps:\n  - log: { message: hello }\n"
        "  - loop: { over: range(99999), each: n, steps: [{ set: { m: '${ query.n }' } }] }\n"
        "  - loop: { over: range(99999), each: n, steps: [{ set: { m: '${ query.n }' } }] }\n"
    )

    async def tell() -> Any:
        async with serving(files, detailed=True) as client:
            return (await client.ask("GET", "/fails?n=9")).json

    assert "endpoints/fails.yaml:7" in str(run(tell()))


def test_a_function_and_the_same_steps_in_the_endpoint_are_the_same_code() -> None:
    head, body = LIST.partition("params:")[0], LIST[LIST.index("params:") :]
    inline = sample(endpoints__text=LIST) | TABLES
    apart = sample(endpoints__text=f"{head}function: text\n", functions__text=body) | TABLES
    found = [build(MemoryTree(files), base=MemoryTree(files)) for files in (inline, apart)]
    assert all(one.artifact for one in found)
    one, other = (built.project for built in found)
    assert one is not None
    assert other is not None
    assert one.flows.of("endpoint text").gives == other.flows.of("text").gives


def test_nothing_else_can_run_them() -> None:
    files = sample(
        endpoints__text=LIST, functions__text="steps:\n  - return: ${ 1 }\n",
        endpoints__named="method: GET\npath: /named\nfunction: text\nauthentication: None\n",
    ) | TABLES  # fmt: skip
    built = build(MemoryTree(files), base=MemoryTree(files))
    assert built.project is not None
    assert {route.function for route in built.project.routes} == {"endpoint text", "text"}
