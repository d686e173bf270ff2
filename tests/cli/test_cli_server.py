"""Which server and project a command asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.cli._server import DEFAULT_SERVER, default_server
from tests.support.statuses import READY, Start, answers_of, control

__all__ = ["control"]


@pytest.mark.parametrize("name", ["status", "suspend", "resume", "reconcile", "requests", "replay"])
def test_a_project_is_named_with_or_without_the_option(name: str) -> None:
    done = CliRunner().invoke(RootGroup("bbops"), [name, "shop", "--project", "blog"])
    assert done.exit_code in {1, 2}  # replay says with 1 that it could not
    assert "two projects are given: 'shop' and --project 'blog'" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [("keys issue x --expires never", "'--expires': 'never' is not a time such as 12h, 90d or"),
     ("keys rotate bk_4f1c9a --overlap -1h", "'--overlap': '-1h' is not a time such as 12h, 90d"),
     ("pulls allow x --head 4f3c", "'NUMBER': 'x' is not a whole number\n"),
     ("tasks next --count many", "'--count': 'many' is not a whole number\n")],
)  # fmt: skip
def test_a_value_of_another_form_is_named_with_its_option(words: str, message: str) -> None:
    done = CliRunner().invoke(RootGroup("bbops"), words.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: invalid value for {message}")


def test_the_server_of_the_folder_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "shop/.bbops/state"
    state.mkdir(parents=True)
    (tmp_path / "shop/functions").mkdir()
    monkeypatch.chdir(tmp_path / "shop/functions")
    assert default_server() == DEFAULT_SERVER
    (state / "control.json").write_text('{"url": "http://127.0.0.1:18999", "token": "x"}')
    assert default_server() == "http://127.0.0.1:18999"
    for foreign in ("https://evil.example", "http://10.0.0.1:8001", "http://[", "", 7):
        (state / "control.json").write_text(json.dumps({"url": foreign, "token": "x"}))
        assert default_server() == DEFAULT_SERVER  # a clone names no server for our token
    (state / "control.json").write_text('{"url": "http://127.0.0.1:18999", "token": "x"}')
    done = CliRunner().invoke(RootGroup("bbops"), ["status"], env={"BBOPS_SERVER": None})
    assert "http://127.0.0.1:18999" in done.stderr


def test_a_job_is_listed_with_its_unique_key_or_its_lane(control: Start) -> None:
    job = {"name": "functions/confirm@1", "work": "functions/confirm", "state": "ready",
           "attempts": 1, "run_at": 0, "created_at": 1}  # fmt: skip
    jobs = [{**job, "lane": "unique functions/confirm/Ada"}, {**job, "lane": "rooms/7"}, job]
    answer = {"jobs": jobs, "counts": {}, "tasks": []}
    path = "GET /api/projects/shop/jobs?show=&limit=100"
    url = control({**answers_of(READY), path: (200, answer)})
    done = CliRunner().invoke(RootGroup("bbops"), ["jobs", "list", "--server", url])
    assert [line.split("@1")[1] for line in done.stdout.splitlines()] == [
        "  unique Ada", "  lane rooms/7", "",
    ]  # fmt: skip
