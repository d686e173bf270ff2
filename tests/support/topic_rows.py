"""A project whose topic shows rows, other programs that change these, and what each user sees."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import psycopg
from websockets.asyncio.client import connect

from bbops.database.schema.place import PostgresPlace
from tests.support.realtime import FILES, address, login
from tests.support.served import Served

TEAMS, USERS = ("a", "b", "c"), ("ada", "bob", "cat", "dan")
TICKETS = """
columns:
  id: { type: integer, primaryKey: true }
  team: { type: string, maxLength: 20 }
  owner: { type: string, maxLength: 20, nullable: true }
  title: { type: string, maxLength: 20 }
  hidden: { type: boolean, default: false }
  secret: { type: string, maxLength: 20, private: true, default: "" }
"""
BOARD = """
topic: teams/:team/board
authentication: JWT
rows:
  table: tickets
  where: team == params.team and not hidden and (owner == null or owner == vars.auth.userId)
  select: [id, title]
history: { size: 1000, for: 1h }
"""
ROWS = FILES | {"tables/tickets.yaml": TICKETS, "realtime/board.yaml": BOARD}

Row = dict[str, Any]
_COLUMNS = "id, team, owner, title, hidden"


def sees(row: Row | None, team: str, user: str) -> bool:
    """Return what a SELECT by the rule of the topic says."""
    if row is None or row["team"] != team or row["hidden"]:
        return False
    return row["owner"] is None or row["owner"] == user


@dataclass
class Oracle:
    """The rows as they are, and what somebody has seen who has looked since the beginning."""

    rows: dict[int, Row] = field(default_factory=dict)
    changes: list[tuple[Row | None, Row | None]] = field(default_factory=list)

    def change(self, key: int, row: Row | None) -> None:
        self.changes.append((row, self.rows.pop(key, None)))
        if row is not None:
            self.rows[key] = row

    def seen(self, team: str, user: str) -> list[tuple[str, Row]]:
        found: list[tuple[str, Row]] = []
        for new, old in self.changes:
            is_new, is_old = sees(new, team, user), sees(old, team, user)
            if is_new:
                assert new is not None
                payload = {"id": new["id"], "title": new["title"]}
                found.append(("row.updated" if is_old else "row.inserted", payload))
            elif is_old:
                assert old is not None
                found.append(("row.left" if new else "row.deleted", {"id": old["id"]}))
        return found


class Program:
    """Another program, which changes rows by SQL of its own."""

    def __init__(self, served: Served, schema: PostgresPlace | None, seed: int) -> None:
        self.served, self.schema, self.chance = served, schema, random.Random(seed)
        self.oracle, self.number = Oracle(), 0

    def change(self, count: int) -> None:
        """Change rows, some of them several in one transaction."""
        for statements in self._transactions(count):
            self._run(statements)

    def _transactions(self, count: int) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
        done = 0
        while done < count:
            size = self.chance.choice([1, 1, 2, 5])
            yield [self._one() for _ in range(size)]
            done += size

    def _one(self) -> tuple[str, tuple[Any, ...]]:
        rows, chance = self.oracle.rows, self.chance
        kind = chance.random()
        if not rows or kind < 0.3:
            self.number += 1
            row = self._row(self.number)
            self.oracle.change(self.number, row)
            return f"INSERT INTO tickets ({_COLUMNS}, secret) VALUES (?, ?, ?, ?, ?, 'x')", (
                *row.values(),
            )  # fmt: skip
        key = chance.choice(sorted(rows))
        if kind < 0.85:
            row = self._row(key)
            self.oracle.change(key, row)
            row_of = "id = ?, team = ?, owner = ?, title = ?, hidden = ?"
            return f"UPDATE tickets SET {row_of} WHERE id = ?", (*row.values(), key)
        self.oracle.change(key, None)
        return "DELETE FROM tickets WHERE id = ?", (key,)

    def _row(self, key: int) -> Row:
        chance = self.chance
        return {
            "id": key, "team": chance.choice(TEAMS), "owner": chance.choice([None, *USERS]),
            "title": f"t{chance.randrange(9)}", "hidden": chance.random() < 0.2,
        }  # fmt: skip

    def _run(self, statements: list[tuple[str, tuple[Any, ...]]]) -> None:
        if self.schema is not None:
            with psycopg.connect(self.schema.address) as connection:
                for sql, given in statements:
                    connection.execute(sql.replace("?", "%s").encode(), given)
            return
        file = self.served.repository / ".bbops/state/data.sqlite"
        with closing(sqlite3.connect(file, timeout=30)) as database, database:
            for sql, given in statements:
                database.execute(sql, given)


class Watcher:
    """Somebody who looks at the board of a team, comes back when cut off, and keeps a copy."""

    def __init__(self, served: Served, user: str, team: str) -> None:
        self.served, self.user, self.team = served, user, team
        self.token = login(served, user)
        self.seen: list[tuple[str, Row]] = []
        self.place: dict[str, Any] = {}
        self.is_there, self.lost = asyncio.Event(), 0

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                async with connect(address(self.served), compression=None) as socket:
                    await self._look(socket)
            except (OSError, EOFError, Exception):  # noqa: BLE001 - it comes back
                await asyncio.sleep(0.05)

    async def _look(self, socket: Any) -> None:
        channel = f"teams/{self.team}/board"
        await socket.send(json.dumps({"id": 1, "connect": {"token": self.token}}))
        await socket.send(json.dumps({"id": 2, "subscribe": {"channel": channel, **self.place}}))
        async for text in socket:
            for line in str(text).split("\n"):
                self._take(json.loads(line))

    def _take(self, found: dict[str, Any]) -> None:
        if "subscribe" in found:
            result = found["subscribe"]
            self.lost += result.get("recovered") is False
            for one in result.get("publications", ()):
                self._note(one)
            self.place = {"recover": True, "epoch": result["epoch"], "offset": result["offset"]}
            self.is_there.set()
        elif "pub" in found.get("push", {}):
            self._note(found["push"]["pub"])

    def _note(self, pub: dict[str, Any]) -> None:
        self.seen.append((pub["data"]["event"], pub["data"]["payload"]))
        self.place["offset"] = pub["offset"]
