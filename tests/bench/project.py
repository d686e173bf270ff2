"""The projects that are measured: one that others imitate by hand, and ones of many files."""

from __future__ import annotations

from collections.abc import Iterator

KEY = "a-benchmark-key-of-more-than-32-characters"
"""Signs the tokens of every server."""

ENV = {"JWT_SECRET": KEY}
SECRET = """
env: { JWT_SECRET: { secret: true, generate: true } }
auth: { signingKey: "${ env.JWT_SECRET }" }
"""

CHANNEL = """
name: Everything on
basePath: /api/signed
authentication: JWT
rateLimit: 100000000
cors: { origins: ["https://example.com"] }
"""

ITEMS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  owner: { type: string }
  title: { type: string }
  quantity: { type: integer }
  done: { type: boolean, default: false }
  created_at: { type: datetime, auto: created }
"""

AUTHORS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: string }
"""

NOTES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string }
  author_id: { type: integer, references: authors.id, onDelete: cascade }
  created_at: { type: datetime, auto: created }
"""

LIST = """
steps:
  - find:
      table: notes
      select:
        id: id
        title: title
        created_at: created_at
        author: { id: author.id, name: author.name }
      orderBy: id.desc
      limit: 20
      withTotal: true
    as: notes
  - return: { value: '${ vars.notes }' }
"""

HELLO = """
steps:
  - return: { value: { message: hello, version: 1, tags: [one, two, three] } }
"""

ITEM = """
params: { id: integer }
steps:
  - find: { table: items, where: id == params.id, one: required }
    as: item
  - return: { value: '${ vars.item }' }
"""

ADD = """
input:
  title: { type: string, minLength: 1, maxLength: 120 }
  quantity: { type: integer, minimum: 1, maximum: 1000 }
steps:
  - insert:
      table: items
      data: { owner: OWNER, title: '${ input.title }', quantity: '${ input.quantity }' }
    as: item
  - return: { status: 201, value: '${ vars.item }' }
"""


def endpoint(method: str, path: str, function: str, authentication: str = "None") -> str:
    """Return the text of an endpoint."""
    return (
        f"method: {method}\npath: {path}\nfunction: {function}\nauthentication: {authentication}\n"
        "description: Measured.\n"
    )


def served_project() -> dict[str, str]:
    """Return the project of the contests, filled up to 100 endpoints."""
    files = {
        "project.yaml": f"bbops: 1\nname: bench{SECRET}",
        "tables/items.yaml": ITEMS,
        "tables/authors.yaml": AUTHORS,
        "tables/notes.yaml": NOTES,
        "functions/hello.yaml": HELLO,
        "functions/notes.yaml": LIST,
        "functions/item.yaml": ITEM,
        "functions/add.yaml": ADD.replace("OWNER", "nobody"),
        "functions/add-signed.yaml": ADD.replace("OWNER", "'${ vars.auth.userId }'"),
        "endpoints/hello.yaml": endpoint("GET", "/api/hello", "hello"),
        "endpoints/notes.yaml": endpoint("GET", "/api/notes", "notes"),
        "endpoints/item.yaml": endpoint("GET", "/api/items/:id", "item"),
        "endpoints/add.yaml": endpoint("POST", "/api/items", "add"),
        "channels/signed.yaml": CHANNEL,
        "endpoints/add-signed.yaml": (
            "channel: signed\nmethod: POST\npath: /items\nfunction: add-signed\n"
            "description: Measured.\n"
        ),
    }
    for at in range(95):
        files |= resource(at)
    return files


def beside_work() -> dict[str, str]:
    """Return the same project with triggers and a task, which none of its endpoints concern."""
    return served_project() | {
        "functions/note.yaml": "steps:\n  - log: { message: noted }\n",
        "tasks/yearly.yaml": "schedule: 0 0 1 1 *\nfunction: note\n",
        "triggers/paid.yaml": "event: order.paid\nfunction: note\n",
        "triggers/author.yaml": (
            "database: { table: authors, operation: [insert, update] }\nfunction: note\n"
        ),
    }


def large_project(count: int) -> dict[str, str]:
    """Return a project of exactly `count` files: mostly functions, each with its endpoint."""
    files = {
        "project.yaml": f"bbops: 1\nname: large{SECRET}",
        "tables/items.yaml": ITEMS,
        "functions/hello.yaml": HELLO,
        "endpoints/hello.yaml": endpoint("GET", "/api/hello", "hello"),
    }
    files |= {f"tables/t{at}.yaml": ITEMS for at in range(count // 25)}
    for at in range((count - len(files)) // 2):
        files |= resource(at)
    if len(files) < count:
        files["functions/spare.yaml"] = HELLO
    return files


def resource(at: int) -> dict[str, str]:
    """Return one more function and its endpoint."""
    text = (HELLO, ITEM, ADD.replace("OWNER", "nobody"))[at % 3]
    method, path = (("GET", ""), ("GET", "/:id"), ("POST", ""))[at % 3]
    name = f"r{at}"
    return {
        f"functions/{name}.yaml": text,
        f"endpoints/{name}.yaml": endpoint(method, f"/api/{name}{path}", name),
    }


def route_paths(count: int) -> Iterator[tuple[str, str, int]]:
    """Yield `count` routes for a route table: every other one has a parameter."""
    for at in range(count):
        yield "GET", f"/api/v1/r{at // 2}" + ("/:id" if at % 2 else ""), at
