"""A stream holds no connection to PostgreSQL, and no transaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.postgres import control_of
from tests.support.served import Served
from tests.support.streaming import FILES, KEY, Shop
from tests.vendors.dripping import Dripping

pytestmark = pytest.mark.long

LOCKS = "SELECT count(*) FROM pg_locks WHERE relation = 'prompts'::regclass"
"""Who has an open transaction that used the table has a lock on it."""


@pytest.fixture
def shop(schema: PostgresPlace, tmp_path: Path) -> Iterator[Shop]:
    with Dripping() as vendor:
        files = {path: text.replace("URL", vendor.url).encode() for path, text in FILES.items()}
        store.init(tmp_path / "shop", files, message="Start")
        (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        options = ["--settings", str(tmp_path / "settings.yaml"), "--schema", schema.schema]
        env = {"MODEL_KEY": KEY, "DATABASE_URL": schema.url}
        with Served(tmp_path / "shop", tmp_path / "home", *options, env=env) as served:
            served.live()
            yield Shop(served, vendor)
    drop_schema(control_of(schema))


def test_what_was_written_is_committed_and_others_write(shop: Shop, schema: PostgresPlace) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        asked.say("a")
        assert reading.next() == ("text", {"text": "a"})
        with psycopg.connect(schema.address, autocommit=True) as connection:
            assert connection.execute(LOCKS.encode()).fetchall() == [(0,)]
            found = connection.execute(b"SELECT prompt FROM prompts").fetchall()
            assert found == [("Hi",)]
        assert shop.served.api.post("/add").json() == 1
        assert shop.served.api.get("/count").json() == 2
        asked.end()
        assert reading.rest()[-1][0] == "done"
