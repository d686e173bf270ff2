"""Run single functions on one database, without a server: fast enough for property tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bbops.base.errors import ProjectError
from bbops.compiler.compile.release import Cache, build
from bbops.compiler.testing.client import Client, Reply
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.open import open_database
from bbops.database.schema.place import Place
from bbops.language.resources.project import Engine
from bbops.runtime.data.postgres_rows import own_rows
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, Files, with_function


class BegunDoor:
    """A database that sets `begun` at the first statement that a function sends to it."""

    def __init__(self, door: Any) -> None:
        self._door, self.begun = door, asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        self.begun.set()
        return getattr(self._door, name)


class Bench:
    """A database with the tables of some files; `run` answers by a function of its own."""

    def __init__(self, place: Place, files: Files) -> None:
        """Take a schema of PostgreSQL, or a folder for a file of SQLite."""
        place = place / "data.sqlite" if isinstance(place, Path) else place
        self.place, self.files, self.cache = place, files, Cache()
        self.database: Engine = "sqlite" if isinstance(place, Path) else "postgres"
        self.loop = asyncio.new_event_loop()
        tree = MemoryTree(with_function("steps: [log: { message: a }]\n") | files)
        project = build(tree, database=self.database, base=tree).project
        assert project is not None
        self.tables = {name: table.model for name, table in project.tables.items()}
        apply(place, self.tables)
        self.door = self.loop.run_until_complete(open_database(place))
        self.host = fake_host(self.door)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.loop.run_until_complete(self.door.close())
        self.loop.close()

    def client(self, function: str, door: Any = None) -> Client:
        """Return a client whose `/run` answers by this function, through a `door` of its own."""
        tree = MemoryTree(with_function(function) | self.files)
        built = build(tree, self.cache, database=self.database, base=tree)
        if built.project is None:
            raise ProjectError(built.diagnostics)
        host = self.host if door is None else replace(self.host, database=door)
        env = ENV | {"GREETING": "hello"}
        return Client(link(built.artifact, name="bench", host=host, env=env), door or self.door)

    def ask(self, client: Client, body: Any = None, query: str = "") -> Reply:
        """Ask `/run` of a client."""
        return self.loop.run_until_complete(client.ask("POST", f"/run?{query}", body))

    def run(self, function: str, body: Any = None, query: str = "") -> Any:
        """Return the value of a function's answer.

        Raises:
            AssertionError: the answer is no success.
        """
        reply = self.ask(self.client(function), body, query)
        assert reply.status < 300, (reply.json, self.host.log.lines[-1:])  # type: ignore[attr-defined]
        return reply.json

    def sql(self, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement of the test's own; values are as SQLite stores them."""
        if self.database == "postgres":
            asked = self.door.rows(text, parameters, writes=True)
            rows = own_rows(self.loop.run_until_complete(asked), exact=True)
            return [(*row.values(),) for row in rows]
        if text.startswith(("SELECT", "EXPLAIN")):
            return self.loop.run_until_complete(self.door.read(text, parameters))
        return self.loop.run_until_complete(self.door.write(text, parameters))

    def keeps(self, value: Any) -> bool:
        """Return whether the database keeps a value: its texts have no NUL."""
        return "\0" not in repr(value).replace("\\x00", "\0")
