"""A plan that has not seen the rows knows that wider rules break none of them."""

from __future__ import annotations

import pytest

from bbops.database.schema.shape import Rule, tighter_rules
from bbops.database.sqlite.ddl import SqliteDdl
from bbops.language.resources.table import Table


def rules(column: object) -> frozenset[Rule]:
    kinds = {"id": {"type": "integer", "primaryKey": True}}
    written = {**kinds, "it": column}
    described = SqliteDdl().describe({"notes": Table.model_validate({"columns": written})})
    return described["notes"].columns["it"].rules


@pytest.mark.parametrize(
    ("old", "new", "is_safe"),
    [
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["b", "a", "c"]}, True),
        ({"type": "string", "enum": ["a, b"]}, {"type": "string", "enum": ["a", "b"]}, False),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}, False),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2, 3]}, True),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 9}, True),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 4}, False),
        ({"type": "string", "minLength": 5}, {"type": "string", "minLength": 4}, True),
        ({"type": "integer", "minimum": 5}, {"type": "integer", "minimum": 6}, False),
        ({"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 5}, False),
        ({"type": "number", "maximum": 1.5}, {"type": "number", "maximum": 2.5}, True),
    ],
)
def test_only_a_tighter_rule_may_break_rows(old: object, new: object, is_safe: bool) -> None:
    assert (not tighter_rules(rules(old), rules(new))) is is_safe
