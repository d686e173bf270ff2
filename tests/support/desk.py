"""Notes of a desk: rows of users and of their teams, some of them deleted, and who may see them."""

from __future__ import annotations

from typing import Any

from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client, Reply
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, sample
from tests.support.raw_requests import token
from tests.support.workbench import Bench

PROJECT = """
bbops: 1
name: desk
env: { JWT_SECRET: { secret: true }, GREETING: { default: a } }
auth: { users: users, signingKey: "${ env.JWT_SECRET }" }
"""
TABLES = {
    "tables/users.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n"
        "  name: { type: string, default: x }\n",
    "tables/teams.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n"
        "  closed: { type: boolean, default: false }\nscope: not closed\n",
    "tables/members.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n"
        "  team_id: { type: integer, references: teams.id }\n  user_id: { type: integer }\n",
    "tables/notes.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  user_id: { type: integer }
  team_id: { type: integer, nullable: true, references: teams.id }
  title: { type: string }
  slug: { type: string, nullable: true, unique: true }
  deleted_at: { type: datetime, nullable: true }
access:
  read: user_id == vars.auth?.userId or exists(team.members, user_id == vars.auth?.userId)
  write: user_id == vars.auth?.userId
softDelete: deleted_at
""",
}  # fmt: skip
CHANNEL = "name: Desk\nbasePath: /desk\nauthentication: Optional\n"


def ask(
    bench: Bench,
    steps: str,
    user: int | None = 1,
    body: Any = None,
    more: dict[str, str] | None = None,
) -> Reply:
    """Run the steps of an endpoint for a user, or for nobody."""
    files = sample(project=PROJECT, channels__desk=CHANNEL) | TABLES | (more or {})
    head = "channel: desk\nmethod: POST\npath: /run\ninput: { data: json }\nsteps:\n"
    files["endpoints/run.yaml"] = head + steps
    tree = MemoryTree(files)
    built = build(tree, bench.cache, database=bench.database, base=tree)
    assert built.project is not None, [str(d) for d in built.diagnostics if d.severity == "error"]
    client = Client(link(built.artifact, name="bench", host=bench.host, env=ENV), bench.door)
    headers = {} if user is None else token(sub=str(user))
    return bench.loop.run_until_complete(
        client.ask("POST", "/desk/run", {"data": body or 0}, headers=headers)
    )
