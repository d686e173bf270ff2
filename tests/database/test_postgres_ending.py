"""What a process has asked of PostgreSQL ends with the process, however that ends."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import psycopg
import pytest

from bbops.database.schema.place import PostgresPlace
from tests.support.patience import wait_for

MIGRATION: Final = """
import sys
from bbops.database.migrate.opened import write_tables
from bbops.database.schema.place import PostgresPlace
url, schema, statement = sys.argv[1:]
with write_tables(PostgresPlace(url, schema)) as opened:
    opened.look(lambda: opened.live.ask(statement))
"""
REQUEST: Final = """
import asyncio, sys
from bbops.database.schema.place import PostgresPlace
from bbops.database.postgres.connection import connect
url, schema, statement = sys.argv[1:]
async def main():
    connection = await connect(PostgresPlace(url, schema))
    await connection.execute(statement)
asyncio.run(main())
"""


@pytest.mark.long
@pytest.mark.parametrize("program", [MIGRATION, REQUEST], ids=["migration", "request"])
def test_a_statement_ends_soon_after_its_process_is_killed(
    schema: PostgresPlace, program: str
) -> None:
    statement = f"SELECT pg_sleep(600) AS {schema.schema}"
    with psycopg.connect(schema.url, autocommit=True) as watching:

        def is_running() -> bool:
            query = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query = %s"
            return watching.execute(query, (statement,)).fetchone() is not None

        words = [sys.executable, "-c", program, schema.url, schema.schema, statement]
        with subprocess.Popen(words) as process:
            wait_for(is_running)
            process.kill()
        wait_for(lambda: not is_running())
