"""Values of related rows, which come as JSON, are those that the rows themselves give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.postgres import SLOW_DATABASES, place_of
from tests.support.queries_by_property import ALL, SLOW, VALUES
from tests.support.workbench import Bench

TABLES = {
    "tables/parents.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n",
    "tables/rows.yaml": ALL + "  parent_id: { type: integer, references: parents.id }\n",
}
FUNCTION = f"""
input: {{ data: json }}
steps:
  - delete: {{ table: rows, where: true }}
  - insert: {{ table: rows, data: "${{ input.data }}" }}
  - find: {{ table: rows, select: [{", ".join(VALUES)}] }}
    as: plain
  - find:
      table: parents
      select:
        rows:
          - {{ {", ".join(f"{name}: {name}" for name in VALUES)} }}
      one: required
    as: parent
  - return: {{ value: ["${{ vars.plain }}", "${{ vars.parent.rows }}"] }}
"""


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("related")) as place,
        Bench(place, TABLES) as found,
    ):
        found.sql("INSERT INTO parents VALUES (1)")
        yield found


@pytest.mark.long
@SLOW
@given(row=st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()}))
def test_a_related_row_has_the_values_that_a_row_has(row: dict[str, Any], bench: Bench) -> None:
    assume(bench.keeps([row["string"], row["text"]]))
    data = {name: value and value[0] for name, value in row.items()}
    plain, related = bench.run(FUNCTION, {"data": data | {"parent_id": 1}})
    assert related == plain
    assert [[type(value) for value in one.values()] for one in related] == [
        [type(value) for value in one.values()] for one in plain
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_list_of_one_column_has_its_values(name: str, bench: Bench) -> None:
    @SLOW
    @given(values=st.lists(st.none() | VALUES[name], max_size=4))
    def lists(values: list[Any]) -> None:
        assume(name == "json" or bench.keeps(values))
        rows = [{name: value and value[0], "parent_id": 1} for value in values]
        text = (
            "input: { rows: json }\nsteps:\n  - delete: { table: rows, where: true }\n"
            '  - insert: { table: rows, data: "${ input.rows }" }\n'
            "  - find:\n      table: parents\n      one: required\n"
            f"      select: {{ found: 'list(rows, {name})' }}\n"
            "    as: x\n  - return: { value: '${ vars.x.found }' }\n"
        )
        assert bench.run(text, {"rows": rows}) == [value and value[1] for value in values]

    lists()
