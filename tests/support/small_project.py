"""A project of four routes that the server's tests serve."""

from __future__ import annotations

from pathlib import Path


def endpoint(method: str, path: str, function: str) -> str:
    """Return the text of a public endpoint."""
    return (
        f"method: {method}\npath: {path}\nfunction: {function}\nauthentication: None\n"
        "description: One of four.\n"
    )


FILES = {
    "project.yaml": (
        "bbops: 1\nname: small\nenv:\n  GREETING: { default: hello }\n"
        "  SECRET: { secret: true, generate: true }\n"
    ),
    "tables/notes.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  title: { type: string }\n"
    ),
    "functions/hello.yaml": (
        "steps:\n  - return: { value: { text: '${ env.GREETING }', version: 1 } }\n"
    ),
    "functions/add.yaml": (
        "input:\n  title: string\nsteps:\n"
        "  - insert: { table: notes, data: { title: '${ input.title }' } }\n    as: note\n"
        "  - return: { status: 201, value: '${ vars.note }' }\n"
    ),
    "functions/list.yaml": (
        "steps:\n  - find: { table: notes }\n    as: notes\n"
        "  - return: { value: '${ vars.notes }' }\n"
    ),
    # 1.6 s of bcrypt in a thread: slow, but the loop goes on
    "functions/slow.yaml": (
        "steps:\n  - hashPassword: { password: secret, rounds: 14 }\n    as: hash\n"
        "  - return: { value: { done: true } }\n"
    ),
    "endpoints/hello.yaml": endpoint("GET", "/hello", "hello"),
    "endpoints/add.yaml": endpoint("POST", "/notes", "add"),
    "endpoints/list.yaml": endpoint("GET", "/notes", "list"),
    "endpoints/slow.yaml": endpoint("GET", "/slow", "slow"),
}


def write_project(folder: Path, changes: dict[str, str] | None = None) -> Path:
    """Write the project into a folder, with some files replaced."""
    for name, text in {**FILES, **(changes or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def hello(version: int) -> dict[str, str]:
    """Return the file that makes `/hello` answer another version."""
    text = FILES["functions/hello.yaml"].replace("version: 1", f"version: {version}")
    return {"functions/hello.yaml": text}
