"""`bbops reconcile --wait` against a control plane whose answers a test chooses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from tests.support.statuses import READY, STALLED, Answers, Start, answers_of, control

__all__ = ["control"]

REQUESTED_AT = "2026-01-02T03:04:06Z"
HANDLED = {"handled_at": REQUESTED_AT}
EARLIER = {"handled_at": "2026-01-02T03:04:05.999999Z"}
UNDER_WAY = {"type": "Reconciling", "status": True, "reason": "Building", "message": ""}
IN_WORK = {"conditions": [*READY["conditions"], UNDER_WAY]}
LIVE = f"live: {'f' * 12} as v3 at http://127.0.0.1:8000\n"
ACCEPTED = {"status": "accepted", "requested_at": REQUESTED_AT}


class Story(dict[str, tuple[int, Any]]):
    """The answers of a server whose project has one status after another; the last one stays."""

    def __init__(self, name: str, *statuses: dict[str, Any]) -> None:
        requests = {f"POST /api/projects/{name}/reconcile": (202, ACCEPTED)}
        super().__init__({**answers_of(*statuses[-1:]), **requests})
        self.path, self.statuses = f"GET /api/projects/{name}/status", list(statuses)

    def get(self, key: str, default: Any = None) -> Any:
        if key != self.path:
            return super().get(key, default)
        return 200, self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]


def wait(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(
        RootGroup("bbops"), ["reconcile", "--wait", "--server", url, *arguments]
    )


def test_a_commit_that_goes_live_is_waited_for(control: Start) -> None:
    story = Story("shop", READY | IN_WORK, READY | HANDLED)
    done = wait(control(story))
    assert (done.exit_code, done.output) == (0, LIVE)


@pytest.mark.parametrize(
    "before", [READY, READY | EARLIER, STALLED | EARLIER | {"name": "shop"}, READY | IN_WORK]
)
def test_a_status_from_before_the_request_does_not_count(
    control: Start, before: dict[str, Any]
) -> None:
    story = Story("shop", before, before, READY | HANDLED)
    assert wait(control(story)).output == LIVE
    assert story.statuses == [READY | HANDLED]


def test_an_attempt_that_follows_is_waited_for(control: Start) -> None:
    stalled = STALLED | HANDLED | {"name": "shop"}
    under_way = {"conditions": [*STALLED["conditions"], UNDER_WAY]}
    story = Story("shop", stalled | under_way, READY | HANDLED)
    assert wait(control(story)).output == LIVE


def test_a_stalled_commit_is_shown_with_its_diagnostics(control: Start) -> None:
    done = wait(control(Story("blog", STALLED | HANDLED)))
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        f"not live: {'f' * 12} keeps serving [Invalid]",
        "a.yaml:2:3: error: unknown key 'x' [unknown-key]",
        "    hint: remove it",
        "1 error",
    ]


def test_a_stalled_commit_without_diagnostics_has_a_reason(control: Start) -> None:
    nothing = {"diagnostics": [], "release": None}
    done = wait(control(Story("blog", STALLED | HANDLED | nothing)))
    assert done.stdout == "not live: nothing is live yet [Invalid]\n1 error [x]\n"


def test_json_says_what_is_live(control: Start) -> None:
    done = wait(control(Story("shop", READY | HANDLED)), "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, {
        "project": "shop", "live": True, "revision": READY["attempted_revision"],
        "release": READY["release"], "version": "v3", "url": READY["url"],
        "reason": "", "message": "", "diagnostics": [],
    })  # fmt: skip


def test_json_has_the_reason_of_a_stalled_commit(control: Start) -> None:
    done = wait(control(Story("blog", STALLED | HANDLED)), "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["live"], found["reason"]) == (1, False, "Invalid")
    assert found["message"] == "1 error [x]"
    assert found["diagnostics"] == STALLED["diagnostics"]


def test_the_wait_ends_with_the_timeout(control: Start) -> None:
    done = wait(control(Story("shop", READY | IN_WORK)), "--timeout", "0.01")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "error: the newest commit of 'shop' is not live after 0.01 s, and has not stalled\n"
        "    hint: 'bbops status' shows the progress; wait longer with --timeout SECONDS\n"
    )


def test_a_server_that_ends_meanwhile_is_an_error(control: Start) -> None:
    class Ending(Story):
        def get(self, key: str, default: Any = None) -> Any:
            if key == self.path and len(self.statuses) == 1:
                raise ConnectionAbortedError
            return super().get(key, default)

    url = control(Ending("shop", READY, READY))
    done = wait(url)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"cannot reach a server at '{url}'" in done.stderr


def test_an_unknown_project_is_an_error(control: Start) -> None:
    done = wait(control(Story("shop", READY)), "shp")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "has no project 'shp'\n    hint: did you mean 'shop'?" in done.stderr


def test_several_projects_need_a_name(control: Start) -> None:
    answers: Answers = answers_of(READY | HANDLED, STALLED)
    url = control({**answers, "POST /api/projects/shop/reconcile": (202, ACCEPTED)})
    assert wait(url, "shop").exit_code == 0
    unnamed = wait(url)
    assert unnamed.exit_code == 2
    assert "choose a project" in unnamed.stderr


def test_a_timeout_without_a_wait_is_an_error(control: Start) -> None:
    arguments = ["reconcile", "--timeout", "5", "--server", control(answers_of(READY))]
    done = CliRunner().invoke(RootGroup("bbops"), arguments)
    assert done.exit_code == 2
    assert "'--timeout' has no effect without '--wait'" in done.stderr
