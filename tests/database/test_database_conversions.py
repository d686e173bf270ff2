"""Every pair of column types: what a stored value becomes, and that it is never a wrong one."""

from __future__ import annotations

import itertools
import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.database.schema.conversions import convert, encode, is_kept, reads_as
from bbops.database.sqlite.ddl import SqliteDdl
from bbops.language.resources.table import ColumnType
from bbops.runtime.data.rows import DECODERS

TYPES: tuple[str, ...] = get_args(ColumnType)
PAIRS = list(itertools.product(TYPES, TYPES))
TEXTS = st.text() | st.from_regex(r"-?[0-9]{1,20}(\.[0-9]+)?")
STORED: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS.filter(lambda text: "\0" not in text),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, places=3),
    "boolean": st.booleans(),
    "datetime": st.datetimes(),
    "date": st.dates().map(str),
    "time": st.times().map(lambda value: value.isoformat()),
    "uuid": st.uuids().map(str),
    "json": st.integers() | st.text() | st.booleans() | st.lists(st.text()),
    "binary": st.binary(),
}
STORED |= {"text": STORED["string"], "bigint": STORED["integer"]}
CLASSES = {"TEXT": str, "INTEGER": int, "REAL": float, "BLOB": bytes}


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda one: one)
@settings(max_examples=15)
@given(data=st.data())
def test_a_value_becomes_a_right_one_or_none(old: str, new: str, data: st.DataObject) -> None:
    stored = encode(old, data.draw(STORED[old]))
    try:
        found = convert(stored, old, new)
    except ValueError:
        assert not reads_as(old, new)
        return
    assert type(found) is CLASSES[SqliteDdl().storage(new)]
    if new not in {"boolean", "json", "number"}:
        again = DECODERS[new](found) if new in {"datetime", "decimal"} else found
        assert new == "binary" or encode(new, again) == found
    assert not reads_as(old, new) or is_kept(stored, old, new) or new in {"string", "text"}


@pytest.mark.parametrize(
    ("value", "old", "new", "expected", "kept"),
    [
        ("12", "string", "integer", 12, True),
        ("-12", "text", "bigint", -12, True),
        ("007", "string", "integer", 7, False),
        ("1.50", "string", "decimal", "1.50", True),
        ("1e3", "string", "decimal", "1000", False),
        ("true", "string", "boolean", 1, True),
        ("1", "string", "boolean", 1, False),
        (1, "integer", "boolean", 1, True),
        (0, "boolean", "string", "false", True),
        (0.1, "number", "decimal", "0.1", True),
        (2**53 + 1, "integer", "number", float(2**53), False),
        ("0.1", "decimal", "number", 0.1, True),
        ("0.12345678901234567891", "decimal", "number", 0.12345678901234568, False),
        ("2026-01-02", "date", "datetime", "2026-01-02T00:00:00.000000Z", True),
        ("2026-01-02T00:00:00.000000Z", "datetime", "date", "2026-01-02", True),
        ("2026-01-02T03:00:00.000000Z", "datetime", "date", "2026-01-02", False),
        ("2026-01-02T03:00:00.000000Z", "datetime", "time", "03:00:00", False),
        ('{"a": 1}', "text", "json", '{"a": 1}', True),
        (None, "binary", "integer", None, True),
    ],
)
def test_a_value_is_kept_when_it_would_come_back_the_same(
    value: Any, old: str, new: str, expected: Any, *, kept: bool
) -> None:
    assert convert(value, old, new) == expected
    assert is_kept(value, old, new) is kept


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        ("one", "string", "integer"),
        ("1.5", "decimal", "integer"),
        ("9" * 30, "string", "integer"),
        ("1e999999999", "string", "integer"),
        ("nan", "string", "number"),
        ("yes", "string", "boolean"),
        (2, "integer", "boolean"),
        ("{", "string", "json"),
        ("[" * 100_000, "string", "json"),
        ("2026-02-30", "string", "date"),
        ("03:00:00", "time", "datetime"),
        (b"a", "binary", "text"),
        ("a", "text", "binary"),
        (json.dumps({"a": 1}), "json", "integer"),
    ],
)
def test_what_has_no_value_of_the_other_type_is_refused(value: Any, old: str, new: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        convert(value, old, new)
