"""Tables that refer to each other, filled at random, and queries on them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.conftest import NOTES
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

FILES = {
    "tables/notes.yaml": NOTES,
    "tables/users.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: string }
  nick: { type: string, nullable: true }
  active: { type: boolean }
  joined: { type: datetime }
  secret: { type: string, private: true, default: x }
""",
    "tables/posts.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string }
  author_id: { type: integer, references: users.id }
  editor_id: { type: integer, nullable: true, references: users.id, reverse: edited }
  parent_id: { type: integer, nullable: true, references: posts.id, reverse: replies }
  price: { type: decimal }
""",
    "tables/comments.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  post_id: { type: integer, references: posts.id, onDelete: cascade }
  user_id: { type: integer, nullable: true, references: users.id }
  body: { type: string }
  meta: { type: json, nullable: true }
""",
}
Row = dict[str, Any]


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("relations")) as place,
        Bench(place, FILES) as found,
    ):
        fill(found)
        yield found


def fill(bench: Bench) -> None:
    draw = Random(7)
    for at in range(1, 6):
        bench.sql(
            "INSERT INTO users (name, nick, active, joined) VALUES (?, ?, ?, ?)",
            f"u{at}", draw.choice([None, f"n{at}"]), at % 2, f"2026-01-0{at}T00:00:00.000000Z",
        )  # fmt: skip
    for at in range(1, 21):
        bench.sql(
            "INSERT INTO posts (title, author_id, editor_id, parent_id, price)"
            " VALUES (?, ?, ?, ?, ?)",
            f"p{at}", draw.randint(1, 5), draw.choice([None, 1, 2]),
            draw.choice([None, *range(1, at)]), draw.choice(["1.0", "10.50", "2"]),
        )  # fmt: skip
    for _ in range(40):
        bench.sql(
            "INSERT INTO comments (post_id, user_id, body) VALUES (?, ?, ?)",
            draw.randint(1, 20), draw.choice([None, 1, 2, 3]), draw.choice(["a", "b"]),
        )  # fmt: skip


def tables(bench: Bench) -> tuple[dict[int, Row], dict[int, Row], list[Row]]:
    users = [dict(zip(("id", "name", "nick", "active"), row, strict=True))
             for row in bench.sql("SELECT id, name, nick, active FROM users")]  # fmt: skip
    posts = [
        dict(zip(("id", "title", "author_id", "editor_id", "parent_id", "price"), row, strict=True))
        for row in bench.sql(
            "SELECT id, title, author_id, editor_id, parent_id, price FROM posts ORDER BY id"
        )
    ]
    names = ("id", "post_id", "user_id", "body")
    rows = bench.sql(f"SELECT {', '.join(names)} FROM comments")
    comments = [dict(zip(names, row, strict=True)) for row in rows]
    return {u["id"]: u for u in users}, {p["id"]: p for p in posts}, comments


def find(bench: Bench, text: str, body: Any = None) -> Any:
    lines = "\n".join(f"      {line}" for line in text.strip().splitlines())
    return bench.run(
        "input: { name?: string, least: integer }\n"
        f"steps:\n  - find:\n{lines}\n    as: found\n"
        "  - return: { value: '${ vars.found }' }\n",
        body or {"least": 0},
    )
