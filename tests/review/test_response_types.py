"""Response types keep the options of an enum and the format of a UUID."""

from __future__ import annotations

from typing import Any

import pytest

from bbops.review.plan.requests import schema_breaks
from tests.conftest import with_function
from tests.support.contracts import contract_of

TICKETS = """
columns:
  id: { type: uuid, primaryKey: true, auto: uuid }
  state: { type: string, enum: [open, done] }
  before: { type: string, enum: [open, done], nullable: true }
"""
FIND = "steps:\n  - find: { table: tickets, one: required }\n    as: row\n"
UUID = {"type": "string", "format": "uuid"}
STATE = {"type": "string", "enum": ["open", "done"]}


def answer(steps: str) -> Any:
    """Return the schema of the answer with status 200."""
    files = with_function(steps) | {"tables/tickets.yaml": TICKETS}
    contract = contract_of(files)
    (operation,) = contract.operations
    (found,) = (one.schema for one in operation.answers if one.status == 200)
    assert found is not None
    return contract.shapes[found["$ref"].rpartition("/")[2]] if "$ref" in found else found


@pytest.mark.parametrize(
    "steps",
    [
        FIND + "  - return: { value: { id: '${ vars.row.id }', state: '${ vars.row.state }' } }\n",
        FIND.replace("required", "required, select: { id: id, state: state }")
        + "  - return: { value: '${ vars.row }' }\n",
        FIND.replace("required", "required, select: [id, state]")
        + "  - set: { other: '${ vars.row }' }\n  - return: { value: '${ vars.other }' }\n",
        FIND + "  - return: { value: \"${ vars.row | pick('id', 'state') }\" }\n",
    ],
)
def test_enum_and_uuid_are_kept_through_select_set_and_return(steps: str) -> None:
    assert answer(steps)["properties"] == {"id": UUID, "state": STATE}


def test_null_is_beside_the_options() -> None:
    found = answer(FIND + "  - return: { value: '${ vars.row.before }' }\n")
    assert found == {"anyOf": [STATE, {"type": "null"}]}


def test_shapes_keep_them_too() -> None:
    head = "input: { id: uuid, kind: { type: string, enum: [a, b] } }\nsteps:\n"
    value = "{ id: '${ input.id }', kind: '${ input.kind }' }"
    found = answer(f"{head}  - return: {{ value: {value} }}\n")
    assert found["properties"] == {"id": UUID, "kind": {"type": "string", "enum": ["a", "b"]}}


def test_text_that_is_made_of_them_is_any_text() -> None:
    for value in ("vars.row.id | upper", "vars.row.state | slice(0, 2)", "vars.row.state + 'x'"):
        assert answer(FIND + f'  - return: {{ value: "${{ {value} }}" }}\n') == {"type": "string"}


def test_option_that_clients_do_not_know_is_a_break() -> None:
    wider = {**STATE, "enum": ["open", "done", "late"]}
    assert [one.code for one in schema_breaks(STATE, wider)] == ["field-enum"]
    assert not [*schema_breaks(wider, STATE)]
