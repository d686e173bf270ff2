"""A project that is asked in this process, on SQLite: requests without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.open import open_database
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.conftest import ENV


@contextmanager
def asked(
    files: Mapping[str, bytes | str], path: Path, fill: Callable[[Path], None]
) -> Iterator[tuple[asyncio.AbstractEventLoop, Client]]:
    """Yield a client and its loop. `fill` writes rows into the database at `path`."""
    tree = MemoryTree(dict(files))
    built = build(tree, base=tree)
    assert built.project is not None, [*map(str, built.diagnostics)]
    apply(path, {name: one.model for name, one in built.project.tables.items()})
    fill(path)
    loop = asyncio.new_event_loop()
    door = loop.run_until_complete(open_database(path))
    try:
        release = link(built.artifact, name="bench", host=fake_host(door), env=ENV)
        yield loop, Client(release, door)
    finally:
        loop.run_until_complete(door.close())
        loop.close()
