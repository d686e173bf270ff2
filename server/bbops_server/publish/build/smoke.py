"""The smoke test of a release: link it, prepare its SQL, match its routes. No function runs."""

from __future__ import annotations

import asyncio
import dis
import marshal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from bbops.base.errors import DatabaseError, ServerError
from bbops.base.host import Host
from bbops.database.open import Opened, open_database
from bbops.database.schema.place import Place
from bbops.runtime.data.statements import Statement
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.linking.release import Release, link
from bbops_server.data_plane.live.artifact import read_artifact
from bbops_server.process.host.log import JsonLog
from bbops_server.process.host.system import SystemClock, SystemRandom

_DUMMY = "x" * 64
"""The value of every env variable except signing keys. The smoke test needs no secrets."""


async def try_release(artifact: Path, place: Place, lasting: Lasting) -> dict[str, int]:
    """Return the numbers of prepared statements and matched routes.

    Args:
        artifact: the file of the release.
        place: the migrated database.
        lasting: the functions of the project's last smoke test, which are not linked again.

    Raises:
        DatabaseError: a statement does not fit the migrated tables.
        ServerError: a route has no function, or the artifact is damaged.
    """
    data, _ = await asyncio.to_thread(read_artifact, artifact)
    content: dict[str, Any] = marshal.loads(data)  # noqa: S302 - the artifact was just verified
    database = await open_database(place, durability=content["durability"])
    try:
        host = Host(SystemClock(), SystemRandom(), database, JsonLog())
        env = dict.fromkeys(content["env"], _DUMMY) | dict.fromkeys(_keys(content["auth"]))
        release = link(data, name="smoke", host=host, env=env, lasting=lasting)
        statements = await _prepare(release, database)
        for route in content["routes"]:
            _match(release, route)
        release.close()
    finally:
        await database.close()
    return {"statements": statements, "routes": len(content["routes"])}


def _keys(auth: dict[str, Any] | None) -> set[str]:
    """Return the variables with signing keys, which have no valid dummy."""
    return set() if auth is None else {auth["key"], *(key["key"] for key in auth["keys"])} - {None}


async def _prepare(release: Release, database: Opened) -> int:
    uses = {use.text: use for use in statement_uses(release)}
    for text, use in uses.items():
        try:
            await database.prepare(text)
        except DatabaseError as error:
            where = f"{use.place}: " if use.place else ""
            raise DatabaseError(
                f"{where}a query does not fit the database: {error.message}: {text[:300]}",
                hint="this is a bug in bbops, or someone else changed the tables",
            ) from None
    return len(uses)


def _match(release: Release, route: dict[str, Any]) -> None:
    path = "/".join("x" if part.startswith(":") else part for part in route["path"].split("/"))
    target, _ = release.table.match(route["method"], path)
    if target is None:
        raise ServerError(f"route '{route['method']} {route['path']}' has no function")


# ---- The YAML lines of a release's SQL statements: compiled code has its file and lines


@dataclass(frozen=True, slots=True)
class StatementUse:
    """A SQL statement, and the global name by which a function reads it."""

    text: str
    name: str
    code: CodeType

    @property
    def place(self) -> str:
        """The `file:line` of its step; empty if unknown. Disassembles the function."""
        return _find_place(self.code, self.name)


def statement_uses(release: Release) -> Iterator[StatementUse]:
    """Yield every SQL text of a release with its use."""
    for space in release.spaces:
        code: Any = space["flow"].__code__
        for name, value in space.items():
            if isinstance(value, Statement):
                yield from (StatementUse(text, name, code) for text in value.samples())


def _find_place(code: CodeType, name: str) -> str:
    """Return the `file:line` of the first use of a global name, in inner functions last."""
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno if instruction.positions else None
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval == name and line:
            return f"{code.co_filename}:{line}"
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return next(filter(None, (_find_place(constant, name) for constant in inner)), "")
