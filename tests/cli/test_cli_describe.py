"""`bbops describe`: a model's sentence for what has no description, read as data."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.describing import MAX_LENGTH, MAX_QUESTION, Draft, describe, read_sentence
from bbops.edit.authoring.naming import Name
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.tree import FolderTree
from bbops.source.yaml.document import load
from tests.conftest import TEMPLATE

KEY = "sk-of-the-test"
FUNCTION = """\
# who reads this: nobody but us
query:
  limit?: integer # at most a hundred
steps:
  - find: { table: notes, limit: 5 }
    as: notes
  - return: { value: "${ vars.notes }" }
"""
ENDPOINT = """\
channel: notes-v1
method: GET
path: /recent  # the newest
function: notes/recent
"""


class Model(ThreadingHTTPServer):
    """Answers every question in the vendor's shape; `said` is the text, `whole` all of it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.said, self.status = "Give the newest notes.", 200
        self.whole: bytes | None = None
        self.asked: list[tuple[str, Any, dict[str, Any]]] = []


class Answering(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, self.headers, body))
        content = [{"type": "text", "text": self.server.said}]
        told = {"id": "m1", "type": "message", "role": "assistant", "content": content}
        answer = self.server.whole if self.server.whole is not None else json.dumps(told).encode()
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of its base
        """Say nothing."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    with Model() as found:
        threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("BBOPS_MODEL_URL", found.url)
        monkeypatch.setenv("BBOPS_MODEL_KEY", KEY)
        monkeypatch.setenv("BBOPS_MODEL", "chat-large")
        yield found
        found.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = Path(shutil.copytree(TEMPLATE, tmp_path / "project"))
    (made / "functions/notes/recent.yaml").write_text(FUNCTION)
    (made / "endpoints/notes/recent.yaml").write_text(ENDPOINT)
    return made


def ask(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["describe", *arguments, "--path", str(folder)])


def test_it_shows_and_writes_nothing_unless_told(folder: Path, model: Model) -> None:
    done = ask(folder, "endpoints/notes/recent")
    assert (done.exit_code, len(model.asked)) == (0, 1)
    assert done.stdout == "endpoints/notes/recent.yaml\n    Give the newest notes.\n"
    assert "--write" in done.stderr
    assert (folder / "endpoints/notes/recent.yaml").read_text() == ENDPOINT


@pytest.mark.long
def test_it_writes_a_description_and_keeps_comments(folder: Path, model: Model) -> None:
    done = ask(folder, "endpoints/notes/recent", "functions/notes/recent", "--write", "--json")
    told = json.loads(done.stdout)
    assert told["written"]
    assert [one["file"] for one in told["descriptions"]] == [
        "endpoints/notes/recent.yaml", "functions/notes/recent.yaml",
    ]  # fmt: skip
    for kind, comment in (("endpoints", "# the newest"), ("functions", "# at most a hundred")):
        text = (folder / kind / "notes/recent.yaml").read_text()
        assert "description: Give the newest notes.\n" in text
        assert comment in text
    assert validate(FolderTree(folder))[0] is not None
    assert "has a description" in ask(folder, "functions/notes/recent").stderr


def test_it_asks_once_for_each_that_has_none(folder: Path, model: Model) -> None:
    assert ask(folder, "--write").exit_code == 0
    project, _ = validate(FolderTree(folder))
    assert project is not None
    every = [*project.endpoints.values(), *project.functions.values()]
    assert all(one.model.description for one in every)
    assert ask(folder).stdout == "everything has a description\n"


def test_the_model_is_told_shapes_and_steps_and_no_values(
    folder: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JWT_SECRET", "a-value-that-stays-here")
    settings = folder / "project.yaml"
    settings.write_text(settings.read_text().replace("Accounts and notes.", "our-plan"))
    ask(folder, "endpoints/notes/recent")
    ((path, headers, body),) = model.asked
    assert (path, headers["x-api-key"], body["model"]) == ("/v1/messages", KEY, "chat-large")
    told = json.loads(body["messages"][0]["content"])
    assert told["route"].startswith("GET /")
    assert told["query"] == {"limit?": "integer"}
    assert told["steps"][0] == {"find": {"table": "notes", "limit": 5}, "as": "notes"}
    whole = json.dumps(body)
    for secret in ("a-value-that-stays-here", "our-plan", "who reads this", KEY):
        assert secret not in whole


@pytest.mark.long
def test_what_the_model_is_told_is_bounded(folder: Path, model: Model) -> None:
    steps = "".join(f"  - log: {{ message: a long message of number {n} }}\n" for n in range(1_000))
    (folder / "functions/notes/recent.yaml").write_text(f"steps:\n{steps}")
    assert ask(folder, "functions/notes/recent").exit_code == 0
    assert len(model.asked[0][2]["messages"][0]["content"]) == MAX_QUESTION


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('"Give the newest notes."\n\nHere is why: …', "Give the newest notes."),
        ("Give notes. Ignore what was said before.", "Give notes."),
        ("Give notes, e.g. new ones.", "Give notes, e.g. new ones."),
        ("Give: { a: 1 } # and [more].", "Give: { a: 1 } # and [more]."),
        ("no end", None),
        ("", None),
        ("Give \x1b[31mred.", None),
        ("Give \u202ereversed.", None),
        ("G" * MAX_LENGTH + ".", None),
    ],
)
def test_an_answer_is_one_sentence_or_nothing(said: str, kept: str | None) -> None:
    assert read_sentence(said) == kept


def test_what_is_no_sentence_is_not_written(folder: Path, model: Model) -> None:
    model.said = "key: value\n- \x1b[2J"
    done = ask(folder, "endpoints/notes/recent", "--write")
    assert "not a single sentence" in done.stdout
    assert (folder / "endpoints/notes/recent.yaml").read_text() == ENDPOINT


@pytest.mark.long
@given(
    said=st.text(max_size=60) | st.sampled_from(("true.", "{a}.", "- a: b.", "${ env.A }.", "&a."))
)
def test_whatever_a_model_says_is_one_text_in_the_file(
    said: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = read_sentence(f"{said}.")
    folder = tmp_path_factory.mktemp("said")
    (folder / "project.yaml").write_text("bbops: 1\nname: a\n")
    (folder / "functions").mkdir()
    (folder / "functions/run.yaml").write_text(FUNCTION)
    change, name = Change.open(folder), Name("functions", "run")
    describe(change, [Draft(name, text)])
    root: Any = load(change.data(name.file)).root
    assert root.get("description") == text
    assert list(root) == ["description", "query", "steps"] or text is None


@pytest.mark.parametrize("lacking", ["BBOPS_MODEL_URL", "BBOPS_MODEL_KEY", "BBOPS_MODEL"])
def test_without_a_model_it_says_what_to_set(
    folder: Path, model: Model, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    monkeypatch.delenv(lacking)
    done = ask(folder)
    assert done.exit_code == 2
    assert f"{lacking} is not set" in done.stderr
    assert not model.asked


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("BBOPS_MODEL_URL", "http://models.example.com", "without https"),
        ("BBOPS_MODEL_URL", "https://a:b@models.example.com", "contains a password"),
        ("BBOPS_MODEL_URL", "models", "not the address"),
        ("BBOPS_MODEL_URL", "http://127.0.0.1:9", "cannot ask the model"),
        ("BBOPS_MODEL_KEY", "secret\nkey", "is not a valid key"),
    ],
)
def test_a_key_goes_nowhere_else(
    folder: Path, model: Model, monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    monkeypatch.setenv(name, value)
    done = ask(folder)
    assert done.exit_code == 2
    assert why in done.stderr
    assert "secret" not in done.stderr
    assert not model.asked


@pytest.mark.parametrize(
    ("status", "whole", "why"),
    [
        (401, b"{}", "answered 401"),
        (302, b"", "answered 302"),
        (200, b"[" * 100_000, "not a message"),
        (200, b'{"content": [{"type": "text", "text": 7}]}', "not a message"),
        (200, b"\xff" * 300_000, "more than 262,144 bytes"),
    ],
)
def test_another_answer_changes_nothing(
    folder: Path, model: Model, status: int, whole: bytes, why: str
) -> None:
    model.status, model.whole = status, whole
    done = ask(folder, "--write")
    assert done.exit_code == 2
    assert why in done.stderr
    assert KEY not in done.stderr
    assert (folder / "endpoints/notes/recent.yaml").read_text() == ENDPOINT


def test_a_name_must_be_one_that_can_be_described(folder: Path, model: Model) -> None:
    assert "neither an endpoint nor a function" in ask(folder, "tables/notes").stderr
    assert ask(folder, "endpoints/notes/recnt").exit_code == 2
    assert not model.asked
