"""A project of four routes that the server's tests serve."""

from __future__ import annotations

from pathlib import Path

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
    "endpoints/hello.yaml": "method: GET\npath: /hello\nfunction: hello\nauthentication: None\n",
    "endpoints/add.yaml": "method: POST\npath: /notes\nfunction: add\nauthentication: None\n",
    "endpoints/list.yaml": "method: GET\npath: /notes\nfunction: list\nauthentication: None\n",
    "endpoints/slow.yaml": "method: GET\npath: /slow\nfunction: slow\nauthentication: None\n",
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
