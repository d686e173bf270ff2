"""`python -m tests.bench.apps NAME LISTENING_FD DATABASE`, started by the benchmark only."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from tests.bench.apps import bare, by_hand, with_middleware
from tests.bench.apps.items import Items

APPS: dict[str, Callable[[Items], Any]] = {
    "bare": bare.Bare,
    "by_hand": by_hand.make_app,
    "with_middleware": with_middleware.make_app,
}


def run(name: str, listening: int, database: Path) -> None:
    """Serve an app under the settings of our own data process, until told to stop."""
    config = uvicorn.Config(
        APPS[name](Items(database)), loop="uvloop", http="httptools", lifespan="auto",
        proxy_headers=False, server_header=False, access_log=False, log_config=None,
        timeout_keep_alive=75,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=listening)])


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
