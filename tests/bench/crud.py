"""Routes of a table beside functions written by hand: `python -m tests.bench.crud`.

Each is a whole request in this process, the check of its token included; rounds of both alternate,
and what is counted is the time of the processor.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final

from bbops.compiler.testing.client import Client
from tests.bench.in_process import asked
from tests.support.raw_requests import token

ROUNDS: Final = 101
TIMES: Final = 60
_FILES: Final[Mapping[str, str]] = {
    "project.yaml": "bbops: 1\nname: desk\nenv: { JWT_SECRET: { secret: true } }\n"
    'auth: { users: users, signingKey: "${ env.JWT_SECRET }" }\n',
    "tables/users.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n",
    "tables/notes.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  user_id: { type: integer, references: users.id }
  title: { type: string, maxLength: 80 }
  done: { type: boolean, default: false }
  created_at: { type: datetime, auto: created }
indexes:
  by_user: { columns: [user_id, created_at] }
""",
    "endpoints/notes.yaml": """
table: notes
path: /notes
authentication: JWT
owner: user_id
description: Notes.
actions:
  list: { filter: [done, created_at], sort: [created_at.desc, title] }
  get: {}
  create: { input: [title, done] }
  update: { input: [title, done] }
""",
    "endpoints/hand/list.yaml": """
method: GET
path: /hand
authentication: JWT
description: Notes.
query:
  done?: { fields: { eq?: boolean } }
  created_at?: { fields: { gte?: datetime, lt?: datetime } }
  sort?:
    type: string
    enum: [created_at.desc, created_at.asc, title.asc, title.desc]
    default: created_at.desc
  limit?: { type: integer, minimum: 1, maximum: 100, default: 20 }
  cursor?: string
strictQuery: true
steps:
  - find:
      table: notes
      where: user_id == vars.auth.userId
        and (query.done?.eq == null or done == query.done?.eq)
        and (query.created_at?.gte == null or created_at >= query.created_at?.gte)
        and (query.created_at?.lt == null or created_at < query.created_at?.lt)
      orderBy: ${ query.sort }
      limit: ${ query.limit }
      after: ${ query.cursor }
    as: page
  - return: ${ vars.page }
""",
    "endpoints/hand/get.yaml": """
method: GET
path: /hand/:id
authentication: JWT
description: A note.
params: { id: integer }
steps:
  - find: { table: notes, where: id == params.id and user_id == vars.auth.userId, one: required }
    as: note
  - return: ${ vars.note }
""",
    "endpoints/hand/create.yaml": """
method: POST
path: /hand
authentication: JWT
description: Writes a note.
input: { title: { type: string, maxLength: 80 }, done?: { type: boolean, default: false } }
steps:
  - insert:
      table: notes
      data:
        user_id: ${ vars.auth.userId }
        title: ${ input.title }
        done: ${ input.done }
    as: note
  - return: { status: 201, value: "${ vars.note }" }
""",
    "endpoints/hand/update.yaml": """
method: PATCH
path: /hand/:id
authentication: JWT
description: Changes a note.
params: { id: integer }
input: { title?: { type: string, maxLength: 80 }, done?: boolean }
steps:
  - update:
      table: notes
      where: id == params.id and user_id == vars.auth.userId
      data: ${ input | pick('title', 'done') }
      one: required
    as: note
  - return: ${ vars.note }
""",
}
_NOTE: Final = {"title": "a title"}
REQUESTS: Final[Mapping[str, tuple[str, str, Any]]] = {
    "list": ("GET", "{path}?limit=20", None),
    "list, filtered": ("GET", "{path}?done=false&sort=title.asc", None),
    "get": ("GET", "{path}/7", None),
    "create": ("POST", "{path}", _NOTE),
    "update": ("PATCH", "{path}/7", _NOTE),
}


def fill(path: Path) -> None:
    """Write 1,000 notes of 50 users."""
    with sqlite3.connect(path) as database:
        database.executemany("INSERT INTO users VALUES (?)", [(i,) for i in range(50)])
        database.executemany(
            "INSERT INTO notes (id, user_id, title, done, created_at) VALUES (?, ?, ?, ?, ?)",
            [(i, i % 50, f"note {i}", i % 2, f"2026-01-01T00:00:{i % 60:02}.000000Z")
             for i in range(1_000)],
        )  # fmt: skip
    database.close()


def measure(folder: Path) -> dict[str, tuple[float, float, float]]:
    """Return the least microseconds of each request, by hand, too, and how fast it is beside that.

    That is the middle of all rounds: other load meets both sides of one.
    """
    with asked(_FILES, folder / "data.sqlite", fill) as (loop, client):
        return {name: _pair(loop, client, *one) for name, one in REQUESTS.items()}


def _pair(
    loop: asyncio.AbstractEventLoop, client: Client, method: str, path: str, body: Any
) -> tuple[float, float, float]:
    headers = token(sub="7")

    async def ask(address: str, times: int) -> float:
        begun = process_time()
        for _ in range(times):
            reply = await client.ask(method, address, body, headers=headers)
            assert reply.status < 300, reply.json
        return (process_time() - begun) / times * 1e6

    sides = [path.format(path=one) for one in ("/notes", "/hand")]
    for side in sides:
        loop.run_until_complete(ask(side, 50))
    taken: list[list[float]] = [[], []]
    for turn in range(ROUNDS):
        for at in (0, 1) if turn % 2 else (1, 0):
            taken[at].append(loop.run_until_complete(ask(sides[at], TIMES)))
    ratio = median(hand / made for made, hand in zip(*taken, strict=True))
    return min(taken[0]), min(taken[1]), ratio


def main() -> None:
    """Print the figures."""
    with TemporaryDirectory() as folder:
        for name, (made, hand, ratio) in measure(Path(folder)).items():
            print(f"{name:<16} {made:7.1f} µs, by hand {hand:7.1f} µs: {ratio:.3f} of the speed")


if __name__ == "__main__":
    main()
