"""Agents work on a server: a change on its way, drafts that answer, what is live."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.agents_at_server import House
from tests.support.mcp_house import ORDER, house, say, tip
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.small_project import write_project

__all__ = ["house"]


# ---- the way of a change
@pytest.mark.long
def test_a_change_goes_from_a_preview_to_live(house: House) -> None:
    agent = house.agent("maintainer")
    before = tip(house)
    opened = agent.propose("way", say(7))
    assert opened["obstacles"] == []
    assert tip(house) == before
    seen = agent.call("review_pull_request", number=opened["number"])
    assert seen["mergeable"]
    assert "version: 7" in seen["diff"]
    assert seen["author"] == "maintainer@example.com"
    done = agent.call("publish_request", number=opened["number"], head=seen["head"])
    assert (done["state"], done["live"]) == ("merged", True)
    assert house.api.get("/shop/hello").json()["version"] == 7
    told = agent.call("publish_status", commit=done["commit"])
    assert (told["state"], told["live"]) == ("live", done["commit"])
    assert agent.call("context_get")["published"] == done["commit"]


@pytest.mark.long
def test_what_an_agent_commits_is_the_work_of_its_person(house: House) -> None:
    house.agent("maintainer").change("by-an-agent", say(9))
    wish = {"draft": "by-an-agent", "title": "Change", "body": "Why"}
    opened = house.agent("developer").call("apply_pull_request", **wish)
    found = house.control.book.proposals.get("shop", opened["number"])
    assert found is not None
    assert (found.author, found.pushers) == ("developer@example.com", ("maintainer@example.com",))


@pytest.mark.long
def test_a_draft_answers_a_request(house: House) -> None:
    agent = house.agent()
    agent.change("answers", say(8))
    found = agent.call("preview_request", draft="answers", method="GET", path="/hello")
    assert (found["status"], found["body"]["version"]) == (200, 8)
    made = agent.call(
        "preview_request", draft="answers", method="POST", path="/notes", body={"title": "one"}
    )
    assert made["status"] == 201
    assert house.api.get("/shop/notes").json() == []


@pytest.mark.long
def test_a_failure_in_a_draft_has_its_file_and_line(house: House) -> None:
    agent = house.agent()
    steps = [{"set": {"x": "${ '{}' | parseJson }"}}, {"return": {"value": "${ 1 + vars.x.y }"}}]
    agent.change("fails", {"op": "put", "ref": "function/hello", "body": {"steps": steps}})
    found = agent.call("preview_request", draft="fails", method="GET", path="/hello")
    assert found["status"] == 400
    assert found["step"] == "functions/hello.yaml:3"
    assert found["failure"]
    assert found["next"][0]["arguments"] == {"refs": ["function/hello"], "draft": "fails"}


def test_a_draft_with_mistakes_says_so(house: House) -> None:
    agent = house.agent()
    body = {"steps": [{"return": {"value": "${ vars.nobody }"}}]}
    agent.change("wrong", {"op": "put", "ref": "function/hello", "body": body})
    refused = agent.refused("preview_request", draft="wrong", method="GET", path="/hello")
    assert "does not work" in refused.message
    assert refused.next[0].tool == "validate_draft"


@pytest.mark.parametrize("path", ["//evil.example", "/~health", "/a/../b", "/..", "/~drafts/x/"])
def test_a_request_stays_in_the_draft(house: House, path: str) -> None:
    refused = house.agent().refused("preview_request", draft="main", method="GET", path=path)
    assert "is not the path" in refused.message or "there is no draft" in refused.message


@pytest.mark.parametrize("name", ["Host", "X-Draft-Token", "X-Forwarded-For"])
def test_headers_of_ours_are_not_an_agents_to_send(house: House, name: str) -> None:
    headers = {name: "x"}
    refused = house.agent().refused(
        "preview_request", draft="answers", method="GET", path="/hello", headers=headers
    )
    assert "cannot be sent" in refused.message


def test_the_tests_of_a_draft_run_here(house: House) -> None:
    agent = house.agent()
    case = {"name": "greets", "expect": {"status": 200, "value": {"text": "hello", "version": 9}}}
    body = {"endpoint": "hello", "cases": [case]}
    agent.change("tested", {"op": "put", "ref": "test/hello", "body": body})
    found = agent.call("validate_draft", draft="tested", level="test")
    assert (found["ok"], found["tests"]["failed"]) == (False, 1)
    assert found["diagnostics"][0]["ref"] == "test/hello"


def test_a_preview_knows_the_live_rows_and_values(house: House) -> None:
    agent = house.agent()
    house.api.post("/shop/notes", json={"title": "precious"})
    table = {"columns": {"id": {"type": "integer", "primaryKey": True, "auto": "increment"}}}
    settings = agent.call("context_read", refs=["settings"])["resources"][0]["body"]
    settings["env"]["TOKEN"] = {"secret": True}
    found = agent.call("preview_changes", changes=[
        {"op": "put", "ref": "table/notes", "body": table},
        {"op": "put", "ref": "settings", "body": settings},
        {"op": "put", "ref": "function/add", "body": {"steps": [{"return": {"value": None}}]}},
    ])  # fmt: skip
    assert found["liveData"]
    assert "1 " in found["migration"][0]["change"]
    assert found["missingEnv"] == ["TOKEN"]
    assert "precious" not in json.dumps(found)


# ---- several projects, and one elsewhere
@pytest.mark.long
def test_a_role_in_one_project_of_two_is_enough_for_its_folder(house: House) -> None:
    agent = house.agent("developer", "left")
    agent.change("lefts", say(21))
    assert git(house.folder / "both", "diff", "--name-only", "main", "lefts") == (
        "left/functions/hello.yaml"
    )
    half = house.agent("developer", "left")
    half = type(half)(house, _without(house, "right"), "left")
    half.change("halfs", say(22))
    assert half.call("apply_pull_request", draft="halfs", title="Half")["state"] == "open"
    house.agent("maintainer", "right").change("rights", say(23))
    for tool, arguments in {
        "apply_pull_request": {"draft": "rights", "title": "x"},
        "recovery_reset_draft": {"draft": "rights"},
    }.items():
        refused = half.refused(tool, **arguments)
        assert "this changes files of 'right' in the same repository" in refused.message


def _without(house: House, project: str) -> Any:
    caller = house.caller("developer")
    kept = {name: role for name, role in caller.projects.items() if name != project}
    return replace(caller, projects=kept)


def test_what_is_kept_elsewhere_is_read_and_previewed_alone(house: House) -> None:
    agent = house.agent("maintainer", "away")
    assert agent.call("context_list")["total"] == 10
    plan = agent.call("preview_changes", changes=[say(31)])["plan"]
    refused = agent.refused("apply_changes", draft="topic", plan=plan, message="Change")
    assert "is kept elsewhere" in refused.message
    assert "clone it" in refused.hint
    assert "kept elsewhere" in agent.refused(
        "apply_pull_request", draft="topic", title="x"
    ).message  # fmt: skip


# ---- what is live
def test_requests_are_read_masked_and_as_data(house: House) -> None:
    house.api.post("/shop/notes", json={"title": ORDER, "password": "hunter2"})
    agent = house.agent()
    found: dict[str, Any] = {}

    def is_there() -> bool:
        found.update(agent.call("review_activity", what="requests", details=True, limit=5))
        return ORDER in json.dumps(found)

    wait_for(is_there)
    assert "hunter2" not in json.dumps(found)
    assert found["note"].endswith("Secrets are masked.")
    assert [one["tool"] for one in found["next"]] == []


def test_a_commit_that_does_not_go_live_says_why(house: House) -> None:
    folder = house.folder / "late"
    write_project(folder, {"functions/hello.yaml": "steps:\n  - return: { value: '${ a.b }' }\n"})
    git(folder, "commit", "-qam", "Wrong")
    agent, commit = house.agent("viewer", "late"), git(folder, "rev-parse", "HEAD")
    wait_for(lambda: agent.call("publish_status", commit=commit)["state"] == "failed")
    told = agent.call("publish_status")
    assert (told["commit"], told["diagnostics"][0]["ref"]) == (commit, "function/hello")
    assert told["live"] == git(folder, "rev-parse", "HEAD~1")
    first = agent.call("publish_status", commit=told["live"][:8])
    assert (first["state"], first["commit"]) == ("live", told["live"])
    assert agent.call("publish_status", commit="abcdef0")["state"] == "unknown"


def test_pages_of_requests_go_back(house: House) -> None:
    for _ in range(5):
        house.api.get("/shop/hello")
    agent = house.agent()
    asked = {"what": "requests", "endpoint": "hello"}
    wait_for(lambda: len(agent.call("review_activity", **asked, limit=5)["items"]) == 5)
    first = agent.call("review_activity", **asked, limit=2)
    second = agent.call("review_activity", **asked, limit=2, cursor=first["nextCursor"])
    ids = [one["id"] for one in (*first["items"], *second["items"])]
    assert ids == sorted(ids, reverse=True)
    assert len({*ids}) == 4
    assert agent.call("review_activity", what="requests", since="1s", cursor="1")["items"] == []


def test_no_value_of_the_environment_is_ever_told(house: House) -> None:
    secrets = house.loop_of("shop").context.secrets
    secret = secrets.get("SECRET")
    assert secret
    agent = house.agent("maintainer")
    for tool, arguments in {
        "context_get": {},
        "context_list": {},
        "context_read": {"refs": ["settings"]},
        "preview_changes": {"changes": [say(41)]},
        "review_contract": {"format": "json"},
        "publish_status": {},
        "recovery_history": {},
        "validate_draft": {},
        "review_activity": {"what": "requests", "details": True},
    }.items():
        assert secret not in json.dumps(agent.call(tool, **arguments)), tool
