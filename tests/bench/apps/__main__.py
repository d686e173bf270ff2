"""`python -m tests.bench.apps NAME LISTENING_FD`, started by the benchmark only.

The database is named by the environment: its URL may hold a password.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from bbops.database.schema.place import Place, PostgresPlace, read_place
from tests.bench.apps import DATABASE, bare, by_hand, with_asyncpg, with_middleware, with_orm
from tests.bench.apps.items import Items


def _on_items(make: Callable[[Items], Any]) -> Callable[[Place], Any]:
    return lambda place: make(Items(_file(place)))


def _file(place: Place) -> Path:
    assert isinstance(place, Path)
    return place


def _url(place: Place) -> str:
    assert isinstance(place, PostgresPlace)
    return place.address


APPS: dict[str, Callable[[Place], Any]] = {
    "bare": _on_items(bare.Bare),
    "by_hand": _on_items(by_hand.make_app),
    "with_middleware": _on_items(with_middleware.make_app),
    "with_orm": lambda place: with_orm.make_app(_file(place)),
    "with_asyncpg": lambda place: with_asyncpg.make_app(_url(place)),
}


def run(name: str, listening: int, place: Place) -> None:
    """Serve an app under the settings of our own data process, until told to stop."""
    config = uvicorn.Config(
        APPS[name](place), loop="uvloop", http="httptools", lifespan="auto",
        proxy_headers=False, server_header=False, access_log=False, log_config=None,
        timeout_keep_alive=75,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=listening)])


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), read_place(os.environ[DATABASE]))
