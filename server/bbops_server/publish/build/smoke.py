"""Try a release before it goes live: link it, prepare its SQL, match its routes. Nothing runs."""

from __future__ import annotations

import asyncio
import marshal
from pathlib import Path
from typing import Any

from bbops.base.errors import DatabaseError, ServerError
from bbops.base.host import Host
from bbops.database.open import Opened, open_database
from bbops.database.schema.place import Place
from bbops.runtime.linking.release import Release, link
from bbops_server.data_plane.live.artifact import read_artifact
from bbops_server.process.host.clock import SystemClock
from bbops_server.process.host.log import JsonLog
from bbops_server.process.host.random import SystemRandom
from bbops_server.publish.build.statement_places import placed_statements

_DUMMY = "x" * 64
"""Stands for every env value but keys of tokens: no secret is needed here, so none is given."""


async def try_release(artifact: Path, place: Place) -> dict[str, int]:
    """Return how many statements and routes were tried.

    Raises:
        DatabaseError: a statement does not fit the migrated tables.
        ServerError: a route has no function, or the artifact is damaged.
    """
    data, _ = await asyncio.to_thread(read_artifact, artifact)
    content: dict[str, Any] = marshal.loads(data)  # noqa: S302 - our own file, just checked
    database = await open_database(place, durability=content["durability"])
    try:
        host = Host(SystemClock(), SystemRandom(), database, JsonLog())
        env = dict.fromkeys(content["env"], _DUMMY) | dict.fromkeys(_keys(content["auth"]))
        release = link(data, name="smoke", host=host, env=env)
        statements = await _prepare(release, database)
        for route in content["routes"]:
            _match(release, route)
        release.close()
    finally:
        await database.close()
    return {"statements": statements, "routes": len(content["routes"])}


def _keys(auth: dict[str, Any] | None) -> set[str]:
    """Return the variables that hold keys of tokens: nothing stands for those of a PEM."""
    return set() if auth is None else {auth["key"], *(one["key"] for one in auth["keys"])} - {None}


async def _prepare(release: Release, database: Opened) -> int:
    texts = dict(placed_statements(release))
    for text, place in texts.items():
        try:
            await database.prepare(text)
        except DatabaseError as error:
            where = f"{place}: " if place else ""
            raise DatabaseError(
                f"{where}a query does not fit the database: {error.message}: {text[:300]}",
                hint="this is a bug in bbops, or someone else changed the tables",
            ) from None
    return len(texts)


def _match(release: Release, route: dict[str, Any]) -> None:
    path = "/".join("x" if part.startswith(":") else part for part in route["path"].split("/"))
    target, _ = release.table.match(route["method"], path)
    if target is None:
        raise ServerError(f"route '{route['method']} {route['path']}' has no function")
