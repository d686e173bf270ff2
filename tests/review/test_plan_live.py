"""`bbops plan --live`: a running server completes the plan of what no commit holds yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.compiler.check import validate
from bbops.interfaces.cli._root_group import RootGroup
from bbops.review.plan.live import make_tree, read_question
from bbops.source.tree import MemoryTree
from tests.support.served import Served, make_project

NOTES = "tables/notes.yaml"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("live")
    with Served(make_project(folder / "sample"), folder / "home") as server:
        server.live()
        someone = server.sign_up()
        for text in ("one", "two", "three"):
            made = server.api.post("/api/v1/notes", json={"title": text}, headers=someone)
            assert made.status_code == 201, made.text
        yield server


@pytest.fixture
def project(server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working tree that is served; what a test writes into it is taken back."""
    monkeypatch.chdir(server.repository)
    kept = {name: (server.repository / name).read_text() for name in (NOTES, "project.yaml")}
    yield server.repository
    for name, text in kept.items():
        (server.repository / name).write_text(text)


def run(server: Served, *arguments: str) -> Result:
    url = server.serving["control_url"]
    return CliRunner().invoke(RootGroup("bbops"), ["plan", "--live", "--server", url, *arguments])


def test_a_plan_says_how_many_rows_are_touched(server: Served, project: Path) -> None:
    path = project / NOTES
    path.write_text(path.read_text().replace("title:", "name:"))
    for folder in ("functions/notes", "tests/notes", "endpoints/notes"):
        for file in (project / folder).glob("*.yaml"):
            file.unlink()
    done = run(server, "--json")
    assert done.exit_code == 2, done.output
    plan = json.loads(done.stdout)["plan"]
    gone = next(one for one in plan["tables"] if "title" in one["what"])
    assert (gone["risk"], gone["rows"], plan["looked"]) == ("destructive", 3, True)
    assert server.status()["conditions"][0]["status"] is True


def test_only_variables_without_a_value_are_missing(server: Served, project: Path) -> None:
    path = project / "project.yaml"
    text = path.read_text().replace("env:\n", "env:\n  MAIL_KEY: { secret: true }\n")
    path.write_text(text if "MAIL_KEY" in text else f"{text}env:\n  MAIL_KEY: {{ secret: true }}\n")
    done = run(server, "--json")
    needs = json.loads(done.stdout)["plan"]["needs"]
    assert ([one["name"] for one in needs["env"]], needs["known"]) == (["MAIL_KEY"], True)


def test_a_file_of_rows_is_not_asked_for_twice(server: Served, project: Path) -> None:
    done = CliRunner().invoke(RootGroup("bbops"), ["plan", "--live", "--rows", "-"], input="{}")
    assert done.exit_code == 1
    assert "'--live' and '--rows' exclude each other" in done.output


def test_a_private_value_cannot_be_asked_for_by_a_rule(server: Served) -> None:
    server.sign_up(email="asked@example.com")
    told = []
    for longest in (59, 60):  # a bcrypt hash has 60 letters
        columns = {
            "id": {"type": "uuid", "primaryKey": True, "auto": "uuid"},
            "password_hash": {"type": "string", "private": True, "maxLength": longest},
        }  # fmt: skip
        asked = {"tables": {"users": {"columns": columns}}}
        (project,) = server.control.get("/api/projects").json()
        reply = server.control.post(f"/api/projects/{project['name']}/plan", json=asked).json()
        told.append([one for one in reply["changes"] if one["what"] == "password_hash"])
    assert told[0] == told[1]
    assert (told[0][0]["risk"], told[0][0]["rows"], told[0][0]["keys"]) == ("depends", 0, "")


def test_tables_with_mistakes_are_refused(server: Served) -> None:
    key = json.loads((server.repository / ".bbops/state/control.json").read_text())["token"]
    body = {"tables": {"notes": {"columns": {"id": {"type": "strnig"}}}}}
    headers = {"authorization": f"Bearer {key}"}
    answer = server.control.post("/api/projects/sample/plan", json=body, headers=headers)
    assert answer.status_code == 409
    assert "the tables have errors" in answer.json()["error"]["message"]


def test_a_server_sees_no_more_than_tables_and_names() -> None:
    table = {
        "description": "secret plans", "seed": [{"id": 1, "text": "hush"}],
        "columns": {
            "id": {"type": "integer", "primaryKey": True},
            "text": {"type": "string", "description": "who knows", "default": "x"},
        },
        "checks": {"short": "(text | length) < 9"},
    }  # fmt: skip
    files = {
        "project.yaml": "bbops: 1\nname: small\nenv:\n  KEY: { secret: true }\n",
        "tables/words.yaml": json.dumps(table),
    }
    found, diagnostics = validate(MemoryTree(files))
    assert found is not None, diagnostics
    asked = read_question(found)
    assert asked.env == ("KEY",)
    shown = json.dumps(asked.tables)
    assert not [word for word in ("hush", "plans", "who knows") if word in shown]
    again, diagnostics = validate(make_tree(asked))
    assert again is not None, diagnostics
    now = again.tables["words"].model
    assert (now.columns["text"].default, now.key) == ("x", ("id",))
    assert [getattr(one, "text", "") for one in now.checks.values()] == ["(text | length) < 9"]
