"""Made-up rows of tables: required columns have a value that fits, and others are left out."""

from __future__ import annotations

from typing import Any

import pytest

from bbops.review.contract.recorded_cases import EMAIL, has_row, sample_row

pytestmark = pytest.mark.quick
ID = {"type": "integer", "primaryKey": True}


def table(**columns: Any) -> dict[str, Any]:
    return {"columns": {"id": ID, **columns}}


def test_row_has_its_key_and_the_required_columns() -> None:
    body = table(
        email={"type": "string"}, name={"type": "string", "minLength": 6},
        role={"type": "string", "enum": ["member", "admin"]}, born={"type": "date"},
        logins={"type": "integer", "minimum": 3}, note={"type": "text", "nullable": True},
        state={"type": "string", "default": "new"}, made={"type": "datetime", "auto": "created"},
    )  # fmt: skip
    assert sample_row(body, "7") == {
        "id": 7, "email": EMAIL, "name": "textxx", "role": "member", "born": "2026-01-02",
        "logins": 3,
    }  # fmt: skip


def test_key_of_text_holds_no_expression() -> None:
    body = {"columns": {"id": {"type": "string", "primaryKey": True}}}
    assert sample_row(body, "${ env.SECRET }") == {"id": "$${ env.SECRET }"}


@pytest.mark.parametrize(
    "body",
    [
        table(team_id={"type": "integer", "references": "teams.id"}),
        table(state={"like": "tickets.state"}),
        {"columns": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "primaryKey": ["a", "b"]},
        {"columns": {"name": {"type": "string"}}},
        {"columns": "none"},
        {},
    ],
)
def test_tables_whose_rows_need_more_have_none(body: dict[str, Any]) -> None:
    assert sample_row(body, "7") is None


def test_row_of_the_key_is_found_as_text_or_number() -> None:
    assert has_row(table(), [{"id": 7}], "7")
    assert has_row(table(), [3, {"id": "7"}], "7")
    assert not has_row(table(), [{"id": 8}], "7")
    assert not has_row(table(), None, "7")
    assert not has_row({}, [{"id": 7}], "7")
