"""A migrator that dies leaves the old tables or the new; see also test_migration_storm.py."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bbops.database.migrate import migrate
from tests.conftest import ROOT
from tests.support.changing import changed, database, original, rows_of
from tests.support.migrating import query, schema_of
from tests.support.table_changes import SAFE

__all__ = ["database", "original"]

KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from bbops.database.migrate import migrate
from tests.support.changing import changed
from tests.support.table_changes import SAFE

class Killed(sqlite3.Connection):
    left = int(sys.argv[2])
    def execute(self, *args):
        Killed.left -= 1
        if not Killed.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*args)

connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, **{**k, "factory": Killed})
migrate.apply(Path(sys.argv[1]), changed(SAFE["many changes of one table"][0]))
print(int(sys.argv[2]) - Killed.left)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_migrator_killed_at_any_statement_leaves_the_old_tables_or_the_new(
    database: Path,
) -> None:
    tables = changed(SAFE["many changes of one table"][0])
    old, rows = schema_of(database), rows_of(database)
    whole = database.with_name("whole.sqlite")
    shutil.copy(database, whole)
    statements = migrate_in_child(whole, kill_at=0)
    for number in (1, statements, *random.Random(5).sample(range(2, statements), 6)):
        path = database.with_name(f"{number}.sqlite")
        shutil.copy(database, path)
        assert migrate_in_child(path, kill_at=number) == -signal.SIGKILL
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
        assert schema_of(path) in (old, schema_of(whole))
        migrate.apply(path, tables)
        assert (schema_of(path), rows_of(path)) == (schema_of(whole), rows)


def migrate_in_child(path: Path, *, kill_at: int) -> int:
    """Return the number of statements that were run, or minus the signal that ended them."""
    command = [sys.executable, "-c", KILLED, str(path), str(kill_at)]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    return ended.returncode or int(ended.stdout)
