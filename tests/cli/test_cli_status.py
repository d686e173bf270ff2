"""`bbops status` against a control plane that answers what a real one documents."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bbops.base.errors import ServerError
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.client import Remote
from tests.support.command_line import bbops, environment
from tests.support.statuses import READY, STALLED, Start, answers_of, control

__all__ = ["control"]


def run(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["status", *arguments], env=env)


def test_a_ready_project_is_one_line(control: Start) -> None:
    result = run("--server", control(answers_of(READY)))
    assert result.exit_code == 0, result.output
    head, line = result.stdout.splitlines()
    assert head.split() == ["project", "revision", "release", "state", "reason", "message"]
    assert line.split() == [
        "shop", "main@sha1:aaaaaaaaaaaa", "ffffffffffff", "Ready", "Published", "it", "is", "live"
    ]  # fmt: skip


def test_a_stalled_project_shows_why_and_exits_with_1(control: Start) -> None:
    result = run("--server", control(answers_of(READY, STALLED)))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert any(line.split()[3:6] == ["not", "Ready", "Behind"] for line in lines if "blog" in line)
    assert any(line.split()[:2] == ["Stalled", "Invalid"] for line in lines)
    assert "1 error [x]" in result.stdout
    assert lines[-4:] == [
        f"blog: main@sha1:{'b' * 40}",
        "a.yaml:2:3: error: unknown key 'x' [unknown-key]",
        "    hint: remove it",
        "1 error",
    ]


def test_one_project_can_be_asked_for(control: Start) -> None:
    result = run("shop", "--server", control(answers_of(READY, STALLED)))
    assert result.exit_code == 0
    assert "blog" not in result.stdout


def test_json_has_all_that_is_known(control: Start) -> None:
    result = run("--json", "--server", control(answers_of(READY, STALLED)))
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"projects": [READY, STALLED]}


def test_the_server_can_come_from_the_environment(control: Start) -> None:
    assert run(BBOPS_SERVER=control(answers_of(READY))).exit_code == 0


def test_long_messages_are_whole_in_a_pipe(control: Start) -> None:
    long = {**READY["conditions"][0], "message": "word " * 100 + "end"}  # type: ignore[dict-item]
    done = bbops(
        "status", "--server", control(answers_of({**READY, "conditions": [long]})),
        env=environment(),
    )  # fmt: skip
    assert done.stdout.splitlines()[1].endswith("word end")
    assert "\x1b" not in done.stdout


def test_what_a_commit_says_cannot_reach_the_terminal(control: Start) -> None:
    evil = {**READY["conditions"][0], "message": "\x1b[2J[red]x"}  # type: ignore[dict-item]
    result = run("--server", control(answers_of({**READY, "conditions": [evil]})))
    assert "\\x1b[2J[red]x" in result.stdout


def test_a_server_without_projects_says_so(control: Start) -> None:
    result = run("--server", control(answers_of()))
    assert (result.exit_code, result.stdout) == (0, "the server has no projects\n")


def test_an_unknown_project_suggests_a_near_one(control: Start) -> None:
    result = run("shp", "--server", control(answers_of(READY)))
    assert result.exit_code == 2
    assert "has no project 'shp'\n    hint: did you mean 'shop'?" in result.stderr


def test_the_reason_of_a_404_about_a_known_project_is_shown(control: Start) -> None:
    missing = {"GET /api/projects/shop/pulls": (404, {"error": {"message": "it has no forge"}})}
    url = control({**answers_of(READY), **missing})
    done = CliRunner().invoke(RootGroup("bbops"), ["pulls", "list", "--server", url])
    assert done.exit_code == 2
    assert done.stderr == f"error: the server at '{url}' refused: it has no forge\n"


PULL = {
    "number": 7, "title": "Lower the price", "author": "ada", "branch": "prices", "head": "4" * 40,
    "url": "https://forge.example/7", "is_fork": False, "is_draft": False, "runs": True,
    "check": "1 error, tests not run", "plan": "", "is_ok": False, "preview": "",
    "reason": "1 error, tests not run: a.yaml:3: there is no table 'nots'\x1b[2J",
}  # fmt: skip


def test_failed_pull_request_is_listed_with_its_reason(control: Start) -> None:
    forge = {"repository": "acme/shop", "problem": "", "pulls": [PULL]}
    url = control({**answers_of(READY), "GET /api/projects/shop/pulls": (200, forge)})
    words = ["pulls", "list", "--server", url]
    done = CliRunner().invoke(RootGroup("bbops"), words)
    assert done.stdout == (
        "#7  failed  444444444444  Lower the price\n"
        "    1 error, tests not run: a.yaml:3: there is no table 'nots'\\x1b[2J\n"
    )
    found = json.loads(CliRunner().invoke(RootGroup("bbops"), [*words, "--json"]).stdout)
    assert found[0]["reason"] == PULL["reason"]


def test_no_server_is_an_error_with_the_cure() -> None:
    with socket.socket() as taken:  # bound, not listening: nobody else can take the port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        result = run("--server", url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: cannot reach a server at '{url}': ")
    assert (
        "hint: is 'bbops serve' running? choose another server with --server URL" in result.stderr
    )


@pytest.mark.parametrize("url", ["localhost:8001", "ftp://x", "http://", "http://x:port"])
def test_what_is_no_address_is_said(url: str) -> None:
    result = run("--server", url)
    assert result.exit_code == 2
    assert f"'{url}' is not the address of a server" in result.stderr


@pytest.mark.parametrize("body", ["<html>", [{"name": 3}], {"a": 1}])
def test_another_server_is_recognised(control: Start, body: Any) -> None:
    result = run("--server", control({"GET /api/projects": (200, body)}))
    assert result.exit_code == 2
    assert "is not a bbops control plane" in result.stderr


def test_the_servers_own_words_are_passed_on(control: Start) -> None:
    url = control({"GET /api/projects": (503, {"error": {"message": "starting"}})})
    assert f"the server at '{url}' refused: starting" in run("--server", url).stderr


def test_a_proxy_is_not_asked_for_this_machine(
    control: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert run("--server", control(answers_of(READY))).exit_code == 0


def test_reconcile_is_accepted_or_refused(control: Start) -> None:
    accepted = {"status": "accepted", "requested_at": "2026-01-02T03:04:06Z"}
    url = control({**answers_of(READY), "POST /api/projects/shop/reconcile": (202, accepted)})
    with Remote(url) as remote:
        remote.reconcile("shop")
        with pytest.raises(ServerError, match="has no project"):
            remote.reconcile("other/../x")


def test_a_commit_is_accepted_for_the_one_project_or_the_named_one(control: Start) -> None:
    accepted = {"POST /api/projects/blog/accept": (202, {})}
    one = control({**answers_of(STALLED), **accepted})
    done = CliRunner().invoke(RootGroup("bbops"), ["accept", "b" * 12, "--server", one])
    assert (done.exit_code, done.stdout[:22]) == (0, "accepted bbbbbbbbbbbb;")
    two = control({**answers_of(READY, STALLED), **accepted})
    done = CliRunner().invoke(RootGroup("bbops"), ["accept", "b" * 12, "--server", two])
    assert done.exit_code == 2
    assert "has 2 projects\n    hint: choose one with --project: shop, blog" in done.stderr
    arguments = ["accept", "b" * 12, "--server", two, "--project", "blog"]
    assert CliRunner().invoke(RootGroup("bbops"), arguments).exit_code == 0


def test_a_commit_that_does_not_wait_is_said(control: Start) -> None:
    refused = {"error": {"message": "commit 'c' does not wait"}}
    url = control({**answers_of(STALLED), "POST /api/projects/blog/accept": (409, refused)})
    done = CliRunner().invoke(RootGroup("bbops"), ["accept", "c", "--server", url])
    assert done.exit_code == 2
    assert "refused: commit 'c' does not wait" in done.stderr
