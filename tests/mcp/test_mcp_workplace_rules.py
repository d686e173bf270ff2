"""What agents may do on a server: by role, rule and grant, and on the way back."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest
import yaml

from bbops_server.accounts.rules import GrantScope
from bbops_server.control_plane.app import create_control
from bbops_server.mcp.project_backend import open_workplace
from tests.support.agents_at_server import House
from tests.support.granting import give
from tests.support.mcp_house import ORDER, house, say, tip
from tests.support.served import git
from tests.support.small_project import FILES

pytestmark = pytest.mark.long

__all__ = ["house"]


# ---- rules
def test_who_may_read_may_not_write(house: House) -> None:
    viewer = house.agent("viewer")
    assert viewer.call("context_get")["may"] == ["read"]
    plan = viewer.call("preview_changes", changes=[say(9)])["plan"]
    refused = viewer.refused("apply_changes", draft="viewers", plan=plan, message="Change")
    assert "the role required is 'developer'" in refused.message
    assert tip(house, "refs/heads/viewers") == ""
    assert "you may not" in viewer.refused("review_activity", what="requests").message
    for tool, arguments in {
        "apply_pull_request": {"draft": "way", "title": "x"},
        "review_comment": {"number": 1, "body": "x"},
        "recovery_snapshot": {"name": "x"},
        "recovery_rollback": {"to": "v1", "reason": "x"},
        "recovery_reset_draft": {"draft": "way"},
    }.items():
        assert "you may not" in viewer.refused(tool, **arguments).message, tool


def test_a_stranger_learns_nothing(house: House) -> None:
    stranger = house.agent("stranger")
    for tool, arguments in {
        "context_get": {},
        "context_list": {},
        "review_activity": {"what": "errors"},
        "preview_changes": {"changes": [say(1)]},
        "publish_status": {},
        "preview_request": {"draft": "way", "method": "GET", "path": "/hello"},
        "review_pull_request": {"number": 1},
        "publish_request": {"number": 1, "head": "a" * 40},
    }.items():
        assert stranger.refused(tool, **arguments).message == "there is no project 'shop'"


def test_who_cannot_merge_is_told_who_can(house: House) -> None:
    agent = house.agent()
    opened = agent.propose("asks", say(11))
    before = tip(house)
    done = agent.call("publish_request", number=opened["number"], head=opened["head"])
    assert done["state"] == "waiting"
    assert "a maintainer" in done["waitingFor"][0]
    assert tip(house) == before


def test_no_agent_merges_unless_the_project_says_so(house: House) -> None:
    agent = house.agent("maintainer", "late")
    opened = agent.propose("by-a-person", say(17))
    assert opened["obstacles"] == []
    seen = agent.call("review_pull_request", number=opened["number"])
    assert (seen["mergeable"], seen["mergedBy"], seen["next"]) == (True, "a person", [])
    before = tip(house, project="late")
    done = agent.call("publish_request", number=opened["number"], head=opened["head"])
    assert (done["state"], tip(house, project="late")) == ("waiting", before)
    assert done["waitingFor"] == [f"a person, who merges it: {seen['url']}"]


def test_a_proposal_cannot_let_its_agent_merge_it(house: House) -> None:
    agent = house.agent("maintainer", "late")
    body = yaml.safe_load(FILES["project.yaml"]) | {"review": {"agents": "merge"}}
    opened = agent.propose("trust-me", {"op": "put", "ref": "settings", "body": body})
    done = agent.call("publish_request", number=opened["number"], head=opened["head"])
    assert done["state"] == "waiting"
    assert "agents may merge" in agent.call(
        "review_pull_request", number=opened["number"]
    )["plan"]  # fmt: skip


def test_approvals_are_waited_for(house: House) -> None:
    opened = house.agent("developer", "held").propose("asks", say(11))
    done = house.agent("maintainer", "held").call(
        "publish_request", number=opened["number"], head=opened["head"]
    )
    assert done["state"] == "waiting"
    assert "1 more approval needed" in done["waitingFor"][0]


def test_a_head_that_moved_is_looked_at_again(house: House) -> None:
    agent = house.agent("maintainer")
    opened = agent.propose("moves", say(12))
    agent.change("moves", say(13), base="moves")
    agent.call("apply_pull_request", draft="moves", title="Change")
    refused = agent.refused("publish_request", number=opened["number"], head=opened["head"])
    assert "by now" in refused.message
    assert refused.next[0].tool == "review_pull_request"
    newest = agent.call("review_pull_request", number=opened["number"])["head"]
    refused = agent.refused("publish_request", number=opened["number"], head=newest[:12])
    assert "is a shortened id, which another commit can have, too" in refused.message


def test_a_comment_approves_nothing(house: House) -> None:
    agent = house.agent("maintainer", "held")
    opened = house.agent("developer", "held").propose("spoken", say(14))
    agent.call("review_comment", number=opened["number"], body=ORDER, file="a.yaml", line=3)
    seen = agent.call("review_pull_request", number=opened["number"])
    assert seen["comments"][-1]["text"] == f"a.yaml:3: {ORDER}"
    assert not seen["mergeable"]


def test_what_is_done_is_in_the_audit_log(house: House) -> None:
    agent = house.agent(key="tok_1")
    commit = agent.change("noted", say(15))
    newest = house.book.audit.list(limit=1)[0]
    assert (newest.who, newest.action) == ("developer@example.com", "commit to draft")
    assert newest.object == f"shop noted {commit}"
    assert git(house.folder / "shop", "log", "-1", "--format=%ae", "noted") == (
        "developer@example.com"
    )


def test_previews_without_end_are_told_to_wait(house: House) -> None:
    agent = house.agent("viewer")
    agent.caller = replace(agent.caller, person="somebody")
    agent.place = open_workplace(house.control, agent.caller, "shop")
    for _ in range(60):
        house.control.limits.work.take("somebody")
    assert "try again in" in agent.refused("preview_changes", changes=[say(1)]).message
    assert agent.call("context_list")["total"]


def test_a_pull_request_waits_until_it_is_ready_and_asks_people(house: House) -> None:
    agent = house.agent()
    agent.change("unready", say(61))
    whom = ["maintainer@example.com"]
    made = agent.call("apply_pull_request", draft="unready", title="One", ready=False,
                      reviewers=whom)  # fmt: skip
    assert (made["ready"], made["reviewers"]) == (False, whom)
    number, head = made["number"], made["head"]
    waits = house.agent("maintainer").call("publish_request", number=number, head=head)
    assert (waits["state"], "it is not ready" in waits["waitingFor"][0]) == ("waiting", True)
    again = agent.call("apply_pull_request", draft="unready", title="One")
    assert (again["number"], again["ready"], again["reviewers"]) == (number, False, whom)
    assert agent.call("apply_pull_request", draft="unready", title="One", ready=True)["ready"]
    seen = agent.call("review_pull_request", number=number)
    assert (seen["mergeable"], seen["reviewers"]) == (True, whom)
    refused = agent.refused("apply_pull_request", draft="unready", title="One",
                            reviewers=["stranger@example.com"])  # fmt: skip
    assert "'stranger@example.com' cannot review" in refused.message
    agent.call("apply_pull_request", draft="unready", title="One", ready=False, reviewers=[])


# ---- going back
def test_a_rollback_is_a_pull_request(house: House) -> None:
    agent = house.agent("maintainer", "right")
    opened = agent.propose("rights", say(51))
    done = agent.call("publish_request", number=opened["number"], head=opened["head"])
    assert done["live"]
    versions = agent.call("recovery_history")["versions"]
    assert [one["tag"] for one in versions] == [
        "bbops/right/v2", "bbops/right/v1"
    ]  # fmt: skip
    back = agent.call("recovery_rollback", to="v1", reason="It was better")
    assert "Roll back to v1" in agent.call(
        "review_pull_request", number=back["number"]
    )["title"]  # fmt: skip
    assert house.api.get("/right/hello").json()["version"] == 51
    done = agent.call("publish_request", number=back["number"], head=back["head"])
    assert done["live"]
    assert house.api.get("/right/hello").json()["version"] == 1
    assert agent.call("publish_status", commit=versions[0]["commit"])["state"] == "superseded"


def test_ways_back_are_told_apart(house: House) -> None:
    agent = house.agent("maintainer", "held")
    agent.call("recovery_snapshot", name="v9")
    assert "there is no version 'v9'" in agent.refused(
        "recovery_rollback", to="v9", reason="x"
    ).message  # fmt: skip
    for to in ("snapshot/v1", "snapshot/1", "deadbeef1", "main", "HEAD", "--all"):
        assert "is not a version" in agent.refused("recovery_rollback", to=to, reason="x").message
    for to in ("snapshot/v9", "v1", tip(house, project="held")[:12]):
        assert "already" in agent.refused("recovery_rollback", to=to, reason="x").message


def test_a_snapshot_names_what_is_live(house: House) -> None:
    done = house.agent("maintainer", "left").call("recovery_snapshot", name="calm")
    assert done["tag"] == "left/snapshot/calm"
    assert done["commit"] == house.agent("viewer", "left").call("context_get")["published"]


# ---- by a grant, over the wire
def test_a_grant_does_what_its_scopes_and_its_person_may(house: House) -> None:
    narrow = house.agent("maintainer", how="grant", granted=frozenset({GrantScope.PROJECT}))
    assert narrow.call("context_get")["may"] == ["read"]
    plan = narrow.call("preview_changes", changes=[say(61)])["plan"]
    refused = narrow.refused("apply_changes", draft="grants", plan=plan, message="Change")
    assert "your grant lacks the scope" in refused.message
    scopes = frozenset({GrantScope.PROJECT, GrantScope.BUILDER})
    wide = house.agent("viewer", how="grant", granted=scopes)
    assert "the role" in wide.refused(
        "apply_changes", draft="grants", plan=plan, message="Change"
    ).message  # fmt: skip
    both = house.agent("developer", how="grant", granted=scopes, key="gra_1")
    both.call("apply_changes", draft="grants", plan=plan, message="Change")
    assert house.book.audit.list(limit=1)[0].token == "gra_1"


def test_the_door_leads_to_the_project_of_its_address(house: House) -> None:
    person = house.book.people.get("developer@example.com")
    key = house.book.addresses.of("shop")
    url = f"{house.control.settings.control_url}/mcp/p/{key}"
    token = give(house.book, person, GrantScope.PROJECT, GrantScope.BUILDER, resource=url)
    params = {"name": "context_get", "arguments": {}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "accept": "application/json, text/event-stream", "authorization": f"Bearer {token}",
    }  # fmt: skip

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(create_control(house.control))
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.post(url, json=asked, headers=headers)

    answer = house.run(ask())
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["structuredContent"]["project"] == "shop"


def test_a_name_that_no_branch_has_is_refused_as_any_other(house: House) -> None:
    agent = house.agent()
    plan = agent.call("preview_changes", changes=[say(9)])["plan"]
    for tool, more in {
        "apply_changes": {"plan": plan, "message": "Change"}, "recovery_reset_draft": {},
        "preview_request": {"path": "/hello", "method": "GET"},
    }.items():  # fmt: skip
        for draft in ("a\0b", "a\nb", "a b", "-x"):
            message = agent.refused(tool, draft=draft, **more).message
            assert "cannot be a draft" in message or "there is no draft" in message
