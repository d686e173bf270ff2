"""Updates and conflicts that read related rows."""

from __future__ import annotations

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.reports import (
    FILES,
    ITEMS,
    bench,
    fill,
    lead,
    team,
)
from tests.support.workbench import Bench

__all__ = ["bench"]


def test_an_update_reads_related_rows(bench: Bench) -> None:
    value = bench.run("""
steps:
  - update:
      table: items
      where: team.region == 'north' and team.name != null and team.lead.name != null
      data:
        points: ${ (row.points | default(0)) + (row.team.name | length) }
        status: "${ 'done' if row.team.lead.name == 'Ada' else row.status }"
  - find: { table: items, select: [id, points, status], orderBy: id }
    as: found
  - return: { value: "${ vars.found }" }
""")
    wanted = []
    for r in ITEMS:
        is_north, ada = team(r)["region"] == "north", lead(team(r))["name"] == "Ada"
        more = len(team(r)["name"]) if is_north else 0
        points = (r["points"] or 0) + more if is_north else r["points"]
        status = "done" if is_north and ada else r["status"]
        wanted.append({"id": r["id"], "points": points, "status": status})
    fill(bench)
    assert value == wanted


def test_a_conflict_reads_related_rows(bench: Bench) -> None:
    value = bench.run("""
steps:
  - insert:
      table: teams
      data: { id: 1, name: Red }
      onConflict: { columns: [id], do: { name: "${ row.name + (row.lead.name | default('')) }" } }
    as: team
  - return: { value: "${ vars.team.name }" }
""")
    fill(bench)
    assert value == "RedAda"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${ row.team.name }", "'status'"),
        ("${ row.team.nme }", "has no column 'nme'"),
        ("${ row.team.lead.name | upper }", "maybe-null"),
        ("${ row.team }", "cannot hold map"),
    ],
)
def test_mistakes_in_updates_from_related_rows_are_told(value: str, message: str) -> None:
    function = (
        "steps:\n  - update:\n      table: items\n      where: true\n"
        f'      data: {{ status: "{value}" }}\n'
    )
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found)), found


def test_a_changed_table_compiles_an_update_that_reads_it() -> None:
    function = (
        "steps:\n  - update:\n      table: items\n      where: team.name != null\n"
        '      data: { price: "${ row.team.worth }" }\n'
    )
    worth = "  worth: { type: TYPE, default: 1 }\n"
    files = with_function(function) | FILES
    files["tables/teams.yaml"] += worth.replace("TYPE", "decimal")
    assert not validate(MemoryTree(files))[1]
    files["tables/teams.yaml"] = FILES["tables/teams.yaml"] + worth.replace("TYPE", "boolean")
    assert "cannot hold boolean" in "\n".join(map(str, validate(MemoryTree(files))[1]))
