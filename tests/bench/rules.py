"""What rules of tables cost a row by its key: `python -m tests.bench.rules`.

Each is a whole request in this process, the check of its token included.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final

from tests.bench.in_process import asked
from tests.support.raw_requests import token

_NOTES: Final = (
    "columns:\n  id: { type: integer, primaryKey: true }\n  user_id: { type: string }\n"
    "  team_id: { type: integer, references: teams.id }\n  title: { type: string }\n"
)
_OWN: Final = "user_id == vars.auth.userId"
_EXISTS: Final = "exists(team.members, user_id == vars.auth.userId)"
RULES: Final = {"without": "", "own": _OWN, "exists": _EXISTS}
ROUNDS: Final = 15
TIMES: Final = 500


def files() -> dict[str, str]:
    """Return a project with a table and an endpoint for each rule."""
    found = {
        "project.yaml": "bbops: 1\nname: desk\nenv: { JWT_SECRET: { secret: true } }\n"
        'auth: { signingKey: "${ env.JWT_SECRET }" }\n',
        "tables/teams.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n",
        "tables/members.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n"
        "  team_id: { type: integer, references: teams.id }\n  user_id: { type: string }\n"
        "indexes:\n  member: { columns: [team_id, user_id] }\n",
    }
    for name, rule in RULES.items():
        access = f"access:\n  read: {rule}\n  write: false\n" if rule else ""
        columns = _NOTES.replace("teams.id", f"teams.id, reverse: of_{name}")
        found[f"tables/notes_{name}.yaml"] = columns + access
        found[f"endpoints/{name}.yaml"] = (
            f"method: GET\npath: /{name}/:id\nauthentication: JWT\nparams: {{ id: integer }}\n"
            f"steps:\n  - find: {{ table: notes_{name}, where: id == params.id, one: required }}\n"
            "    as: note\n  - return: ${ vars.note }\n"
        )
    return found


def fill(path: Path) -> None:
    """Write 10,000 notes of 50 users in 100 teams, each with ten members."""
    with sqlite3.connect(path) as database:
        database.executemany("INSERT INTO teams VALUES (?)", [(i,) for i in range(100)])
        members = [(i, i % 100, f"u{i % 50}") for i in range(1_000)]
        database.executemany("INSERT INTO members VALUES (?, ?, ?)", members)
        for name in RULES:
            rows = [(i, f"u{i % 50}", i % 100, "a title") for i in range(10_000)]
            database.executemany(f"INSERT INTO notes_{name} VALUES (?, ?, ?, ?)", rows)
    database.close()


def measure(folder: Path) -> dict[str, float]:
    """Return the microseconds of a request for each rule."""
    headers = token(sub="u1")
    found = dict.fromkeys(RULES, float("inf"))
    with asked(files(), folder / "data.sqlite", fill) as (loop, client):

        async def ask(name: str) -> None:
            for _ in range(TIMES):
                assert (await client.ask("GET", f"/{name}/101", headers=headers)).status == 200

        for name in [*RULES] * ROUNDS:  # in turn, so that other load meets all of them
            began = process_time()
            loop.run_until_complete(ask(name))
            found[name] = min(found[name], (process_time() - began) / TIMES * 1e6)
    return found


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as folder:
        found = measure(Path(folder))
    for name, micros in found.items():
        print(f"{name:8} {micros:8.1f} µs   {found['without'] / micros:.2f} of the speed without")


if __name__ == "__main__":
    main()
