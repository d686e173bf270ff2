"""What a declared column becomes in SQLite."""

from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.errors import MigrationRefused
from bbops.database.schema.conversions import encode, literal, stored_datetime
from bbops.database.sqlite.ddl import SqliteDdl, create_indexes, create_table
from bbops.language.resources.table import Table
from tests.conftest import ROOT

pytestmark = pytest.mark.quick


@contextmanager
def make(**column: Any) -> Iterator[sqlite3.Connection]:
    table = Table.model_validate({"columns": {"x": column}})
    shape = SqliteDdl().describe({"t": table})["t"]
    statements = [create_table("t", shape), *create_indexes("t", shape)]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        yield connection


@pytest.mark.parametrize(
    ("column", "right", "wrong"),
    [
        ({"type": "boolean"}, [0, 1], [2, "x"]),
        ({"type": "string", "enum": ["a:b", "it's"]}, ["a:b", "it's"], ["a", "c"]),
        ({"type": "integer", "enum": [1, 2]}, [1], [3]),
        ({"type": "decimal", "enum": ["1.5", 2]}, ["1.5", "1.50", "2"], ["2.5"]),
        ({"type": "decimal", "minimum": 0, "maximum": 10}, ["0", "9.99"], ["-0.01", "10.5"]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["äö", "abc"], ["ä", "abcd"]),
        ({"type": "number", "minimum": -0.5}, [-0.5, 3], [-0.6]),
        ({"type": "binary"}, [b"\0"], ["x"]),
        ({"type": "string", "nullable": True, "minLength": 2}, [None], [""]),
    ],
)
def test_rules_of_a_column_hold_in_the_database(
    column: dict[str, Any], right: list[Any], wrong: list[Any]
) -> None:
    with make(**column) as connection:
        for value in right:
            connection.execute("INSERT INTO t VALUES (?)", (value,))
        for value in wrong:
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute("INSERT INTO t VALUES (?)", (value,))


@pytest.mark.parametrize(
    ("kind", "default", "stored"),
    [
        ("string", "it's :x (1)", "it's :x (1)"),
        ("boolean", True, 1),
        ("integer", -5, -5),
        ("number", 1e-7, 1e-7),
        ("decimal", 1e-7, "0.0000001"),
        ("json", {"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ("datetime", "2026-01-01T00:00:00+02:00", "2025-12-31T22:00:00.000000Z"),
        ("uuid", "00000000-0000-4000-8000-00000000000A", "00000000-0000-4000-8000-00000000000a"),
        ("binary", "AP8=", b"\0\xff"),
        ("time", "08:30", "08:30:00"),
    ],
)
def test_a_default_is_stored_as_its_column_stores_it(kind: str, default: Any, stored: Any) -> None:
    with make(type=kind, default=default) as connection:
        connection.execute("INSERT INTO t DEFAULT VALUES")
        assert connection.execute("SELECT x FROM t").fetchall() == [(stored,)]


def test_a_default_of_another_type_is_refused() -> None:
    wrong = r"the default of 't\.x'.*type integer"
    with pytest.raises(MigrationRefused, match=wrong), make(type="integer", default="secret"):
        pass
    wrong = r"the enum of 't\.x'"
    with pytest.raises(MigrationRefused, match=wrong), make(type="string", enum=[1]):
        pass


@given(st.lists(st.datetimes(timezones=st.just(dt.UTC)), min_size=2, max_size=2))
def test_stored_datetimes_sort_by_time(moments: list[dt.datetime]) -> None:
    texts = [stored_datetime(moment) for moment in moments]
    assert sorted(texts) == [stored_datetime(moment) for moment in sorted(moments)]
    assert {len(text) for text in texts} == {27}
    assert encode("datetime", texts[0]) == texts[0]


@given(
    st.one_of(
        st.none(),
        st.integers(-(2**63) + 1, 2**63 - 1),
        st.binary(),
        # SQLite 3.40 reads a literal of more digits to within one unit of the last
        st.integers(-(10**12), 10**12).map(lambda number: number / 1000),
    )
)
def test_a_literal_is_the_value(value: Any) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute(f"SELECT {literal(value)}").fetchone() == (value,)


def test_the_driver_loads_neither_models_nor_sqlalchemy() -> None:
    code = (
        "import sys, bbops.database.sqlite.driver\n"
        "assert not {'pydantic', 'sqlalchemy', 'alembic', 'yaml'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
