"""A plan looks at live rows by rules that nobody has reviewed: in time, in little memory."""

from __future__ import annotations

import sqlite3
import time
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from bbops.base.errors import DatabaseError
from bbops.compiler.check import validate
from bbops.database.migrate import rollout
from bbops.language.resources.table import Table
from bbops.source.tree import MemoryTree

TEXTS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  body: { type: text, maxLength: 1000000 }
"""


def tables(check: str = "") -> dict[str, Table]:
    text = f"{TEXTS}checks:\n  rule: {check}\n" if check else TEXTS
    files = {"project.yaml": "bbops: 1\nname: texts\n", "tables/texts.yaml": text}
    project, _ = validate(MemoryTree(files))
    assert project is not None
    return {name: one.model for name, one in project.tables.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data.sqlite"
    rollout.expand(path, tables())
    rollout.settle(path, "first")
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = [("x" * 90_000,)] * 300
        connection.executemany("INSERT INTO texts (body) VALUES (?)", rows)
    return path


def test_a_rule_that_takes_long_is_given_up_in_time(path: Path) -> None:
    chain = "body" + " | replace('x', 'yy') | replace('yy', 'x')" * 6
    began = time.monotonic()
    with pytest.raises(DatabaseError, match=r"takes longer than 0\.5 seconds"):
        rollout.plan(path, tables(f"({chain} | length) > 0"), seconds=0.5)
    assert time.monotonic() - began < 20


def test_a_rule_that_lets_a_text_grow_takes_little_memory(path: Path) -> None:
    chain = "body" + " | replace('x', 'xxxxxxxxxx')" * 4
    tracemalloc.start()
    try:
        with pytest.raises(DatabaseError, match="too big"):
            rollout.plan(path, tables(f"({chain} | length) > 0"))
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()
    assert rollout.plan(path, tables("(body | length) > 0")).migration.changes
