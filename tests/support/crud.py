"""A project whose routes are those of tables, and a client that asks them in this process."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client, Reply
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, Files, sample
from tests.support.raw_requests import token
from tests.support.workbench import Bench

PROJECT: Final = """
bbops: 1
name: desk
env: { JWT_SECRET: { secret: true }, GREETING: { default: a } }
auth: { users: users, signingKey: "${ env.JWT_SECRET }" }
"""
TABLES: Final = MappingProxyType({
    "tables/users.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  name: { type: string }
  email: { type: string, private: true, default: secret@example.com }
  role: { type: string, enum: [member, admin], default: member }
""",
    "tables/labels.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  user_id: { type: integer, references: users.id }
access: { read: user_id == vars.auth?.userId, write: user_id == vars.auth?.userId }
""",
    "tables/notes.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  user_id: { type: integer, references: users.id }
  reader_id: { type: integer, references: users.id, nullable: true }
  label_id: { type: integer, references: labels.id, nullable: true }
  title: { type: string, maxLength: 40 }
  slug: { type: string, unique: true }
  body: { type: text, nullable: true }
  state: { type: string, enum: [open, closed], default: open }
  done: { type: boolean, default: false }
  points: { type: integer, minimum: 0, default: 0 }
  price: { type: decimal, default: "0.5" }
  due: { type: date, nullable: true }
  made_at: { type: datetime, default: "2026-01-01T00:00:00Z" }
  token: { type: string, private: true, default: hidden }
  extra: { type: json, nullable: true }
""",
    "tables/posts.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  author_id: { type: integer, references: users.id }
  title: { type: string }
  locked: { type: boolean, default: false }
  gone_at: { type: datetime, nullable: true }
access:
  read: true
  insert: author_id == vars.auth?.userId
  update: author_id == vars.auth?.userId and not locked
  delete: author_id == vars.auth?.userId
softDelete: gone_at
""",
})  # fmt: skip
ENDPOINTS: Final = MappingProxyType({
    "endpoints/notes.yaml": """
channel: desk
table: notes
path: /notes
owner: user_id
description: My notes.
actions:
  list:
    filter: [title, body, state, done, points, price, due, made_at, id, reader.name, reader.role]
    sort: [id, title.desc, due, reader.name]
    limit: 3
    maxLimit: 5
    total: true
  get: {}
  create:
    input: [title, body, state, done, points, price, due, reader_id, label_id, extra]
    set: { slug: "${ input.title | slugify }" }
  update:
    input: [title, body, state, done, points, price, due, label_id]
    set: { extra: { a: 1 } }
  delete: { roles: [admin] }
""",
    "endpoints/words.yaml": """
channel: desk
table: notes
path: /words
owner: user_id
description: My notes by their words.
select: { id: id, title: title, reader: [id, name] }
actions:
  list: { filter: { title: [contains, startsWith], body: [contains], points: [gte] }, select: [id] }
  update: { input: { title: { like: notes.title, minLength: 3 } } }
""",
    "endpoints/posts.yaml": """
channel: open
table: posts
path: /posts
description: Posts of everybody.
select: { id: id, title: title, author: { name: author.name } }
actions:
  list: { filter: [author_id], select: [id, title] }
  get: {}
  create: { authentication: JWT, input: [title, author_id] }
  update: { authentication: JWT, input: [title] }
  delete: { authentication: JWT }
""",
    "endpoints/users/labels.yaml": """
channel: open
table: labels
path: /users/:user/labels
authentication: JWT
match: { user_id: params.user }
description: Labels of a user.
actions:
  list: {}
  create: { input: [id] }
  get: { function: own }
""",
    "functions/own.yaml": """
params: { user: integer, id: integer }
steps:
  - return: { value: { user: "${ params.user }", id: "${ params.id }" } }
""",
    "channels/desk.yaml": "name: Desk\nbasePath: /desk\nauthentication: JWT\n",
    "channels/open.yaml": "name: Open\nbasePath: /open\nauthentication: None\n",
})  # fmt: skip


def project_files(**more: str) -> Files:
    """Return the project; `endpoints__notes` is the file of that name."""
    return sample(project=PROJECT) | TABLES | ENDPOINTS | {
        f"{name.replace('__', '/')}.yaml": text for name, text in more.items()
    }  # fmt: skip


def write_project(folder: Path) -> Path:
    """Write the project into a folder, and return it."""
    for path, text in project_files().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


class Desk:
    """The project, served on a database."""

    def __init__(self, bench: Bench) -> None:
        tree = MemoryTree(project_files())
        built = build(tree, bench.cache, database=bench.database, base=tree)
        assert built.project is not None, [f"{d}" for d in built.diagnostics]
        self.bench, self.project = bench, built.project
        release = link(built.artifact, name="desk", host=bench.host, env=ENV)
        self.client = Client(release, bench.door)

    def ask(
        self, method: str, path: str, body: Any = None, *, user: int | None = 1,
        role: str = "member",
    ) -> Reply:  # fmt: skip
        """Ask as a user; None is somebody without a token."""
        headers = {} if user is None else token(sub=str(user), role=role)
        return self.bench.loop.run_until_complete(
            self.client.ask(method, path, body, headers=headers)
        )
