"""Cursors of a running server: every process takes them, also after a restart; another does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.served import Served, git, make_project

FILES = {
    "tables/things.yaml": "columns:\n  id: { type: integer, primaryKey: true }\nseed:\n"
    + "".join(f"  - {{ id: {at} }}\n" for at in range(1, 8)),
    "functions/things.yaml": """
query: { cursor?: string }
steps:
  - find: { table: things, limit: 2, after: "${ query.cursor }" }
    as: page
  - return: { value: "${ vars.page }" }
""",
    "endpoints/things.yaml": "method: GET\npath: /things\nfunction: things\nauthentication: None\n",
}


def repository(folder: Path) -> Path:
    made = make_project(folder)
    for name, text in FILES.items():
        (made / name).write_text(text)
    git(made, "add", "-A")
    git(made, "commit", "-qm", "Page through things")
    return made


def ask(served: Served, cursor: str | None) -> tuple[int, dict[str, object]]:
    found = served.api.get("/things", params={"cursor": cursor} if cursor else {})
    return found.status_code, found.json()


@pytest.mark.long
def test_a_cursor_is_taken_by_its_server_alone(tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    with Served(project, tmp_path / "home", "--workers", "2") as served:
        served.live()
        first = ask(served, None)[1]
        cursor = str(first["next"])
        for _ in range(8):  # whichever process answers
            assert ask(served, cursor)[1]["rows"] == [{"id": 3}, {"id": 4}]
    with Served(project, tmp_path / "home") as served:
        served.live()
        assert ask(served, cursor)[1]["rows"] == [{"id": 3}, {"id": 4}]
    git(tmp_path, "clone", "-q", str(project), "copy")
    with Served(tmp_path / "copy", tmp_path / "other") as served:
        served.live()
        status, told = ask(served, cursor)
        assert (status, told["error"]["code"]) == (400, "invalidCursor")  # type: ignore[index]
