"""Rows for drafts: what is private stays behind, what is referred to comes along."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.base.errors import BbopsError
from bbops.database.migrate.copying import copy_rows
from bbops.database.migrate.migrate import apply
from bbops.database.migrate.opened import read_tables, write_tables
from bbops.database.schema.place import Place
from bbops.language.resources.table import Table

TABLES = {
    "people": Table.model_validate({
        "columns": {
            "id": {"type": "integer", "primaryKey": True},
            "name": {"type": "string", "maxLength": 9, "private": True, "unique": True},
            "mood": {"type": "string", "enum": ["calm", "wild"], "private": True},
            "born": {"type": "date", "private": True},
            "secret": {"type": "json", "private": True, "nullable": True},
            "number": {"type": "integer", "minimum": 7, "private": True},
        },
        "seed": [
            {"id": one, "name": f"person {one}", "mood": "wild", "born": "2001-02-03",
             "secret": {"a": one}, "number": 40 + one}
            for one in (1, 2, 3)
        ],
    }),
    "notes": Table.model_validate({
        "columns": {
            "id": {"type": "integer", "primaryKey": True},
            "by": {"type": "integer", "references": "people.id", "private": True},
            "parent": {"type": "integer", "references": "notes.id", "nullable": True},
            "shape": {"type": "json"},
        },
        "seed": [
            {"id": 1, "by": 1, "shape": {"x": [1]}},
            {"id": 2, "by": 3, "parent": 1, "shape": []},
        ],
    }),
}  # fmt: skip
EMPTY = {name: table.model_copy(update={"seed": []}) for name, table in TABLES.items()}


@pytest.fixture(params=["sqlite", "postgres"])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    place: Place = tmp_path / "live.sqlite"
    if request.param == "postgres":
        place = request.getfixturevalue("schema")
    apply(place, TABLES)
    return place


def rows(place: Place, query: str) -> list[tuple[object, ...]]:
    with read_tables(place) as found:
        return list(found.ask(query))


def test_private_values_stay_behind_and_references_hold(live: Place, tmp_path: Path) -> None:
    draft = tmp_path / "draft.sqlite"
    apply(draft, EMPTY)
    assert copy_rows(live, draft, EMPTY, ["notes"]) == {"people": 3, "notes": 2}
    people = rows(draft, 'SELECT * FROM "people" ORDER BY id')
    assert [one[2:] for one in people] == [("calm", "1970-01-01", None, 7)] * 3
    names = {str(one[1]) for one in people}
    assert len(names) == 3
    assert all(name.startswith("masked-") and len(name) == 9 for name in names)
    notes = rows(draft, 'SELECT "id", "by", "parent", "shape" FROM "notes" ORDER BY id')
    assert notes == [(1, 1, None, '{"x":[1]}'), (2, 3, 1, "[]")]
    assert copy_rows(live, draft, EMPTY, []) == {"people": 0, "notes": 0}


def test_a_row_whose_parent_is_not_there_is_left_out(live: Place, tmp_path: Path) -> None:
    draft = tmp_path / "draft.sqlite"
    apply(draft, EMPTY)
    assert copy_rows(live, draft, EMPTY, ["notes"], limit=1) == {"people": 1, "notes": 0}


def test_what_is_not_there_is_named(live: Place, tmp_path: Path) -> None:
    draft = tmp_path / "draft.sqlite"
    apply(draft, EMPTY)
    for names, masked in ((["nots"], []), ([], ["notes.nothing"]), ([], ["notes"])):
        with pytest.raises(BbopsError, match=r"no (table|column) 'no"):
            copy_rows(live, draft, EMPTY, names, masked=masked)


def test_columns_that_only_one_side_has_are_left_out(live: Place, tmp_path: Path) -> None:
    draft = tmp_path / "draft.sqlite"
    spec = EMPTY["notes"].model_dump(by_alias=True, exclude_unset=True)
    del spec["columns"]["shape"]
    spec["columns"]["extra"] = {"type": "text", "default": "new"}
    tables = {"people": EMPTY["people"], "notes": Table.model_validate(spec)}
    apply(draft, tables)
    assert copy_rows(live, draft, tables, [])["notes"] == 2
    with write_tables(draft) as opened:
        assert opened.live.ask('SELECT DISTINCT "extra" FROM "notes"') == [("new",)]
