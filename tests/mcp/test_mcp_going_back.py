"""What agents bring back: histories, snapshots, resets and drafts that were deleted."""

from __future__ import annotations

from tests.support.checkouts import HELLO, SHOUT, Agent, agent, small_repository
from tests.support.served import git

__all__ = ["agent", "small_repository"]


def test_history_of_a_resource(agent: Agent) -> None:
    facts = f"Release: 1\nRevision: main@sha1:{agent.tip()}"
    git(agent.folder, "tag", "-a", "v1", "-m", f"Start\n\n{facts}")
    found = agent.call("recovery_history", ref="function/hello")["versions"]
    assert [(one["summary"], one["tag"]) for one in found] == [("Start", "v1")]
    versions = agent.call("recovery_history")["versions"]
    assert [one["tag"] for one in versions] == ["v1"]


def test_a_snapshot_is_a_tag_and_stays_one(agent: Agent) -> None:
    done = agent.call("recovery_snapshot", name="before-sale")
    assert done["tag"] == "snapshot/before-sale"
    assert agent.call("recovery_snapshot", name="before-sale") == done
    assert [one["tag"] for one in agent.call("recovery_history")["snapshots"]] == [done["tag"]]
    git(agent.folder, "commit", "-qm", "More", "--allow-empty")
    assert "for another commit" in agent.refused("recovery_snapshot", name="before-sale").message


def test_a_reset_can_be_undone(agent: Agent) -> None:
    head = agent.put("function/hello", HELLO)
    done = agent.call("recovery_reset_draft", draft="topic")
    assert (done["head"], done["previousHead"]) == (agent.tip(), head)
    undone = agent.call(done["next"][0]["tool"], **done["next"][0]["arguments"])
    assert undone["head"] == agent.tip("refs/heads/topic") == head


def test_a_deleted_draft_comes_back(agent: Agent) -> None:
    head = agent.put("function/hello", HELLO)
    assert agent.call("recovery_reset_draft", draft="topic", delete=True)["head"] == ""
    assert agent.tip("refs/heads/topic") == ""
    agent.call("recovery_reset_draft", draft="topic", to=head)
    assert agent.tip("refs/heads/topic") == head


def test_single_resources_are_reset(agent: Agent) -> None:
    shout = SHOUT | {"function": "hello"}
    agent.put("function/hello", HELLO)
    agent.put("endpoint/shout", shout)
    agent.call("recovery_reset_draft", draft="topic", refs=["function/hello"])
    assert "version: 1" in agent.show("topic", "functions/hello.yaml")
    assert "shout" in agent.show("topic", "endpoints/shout.yaml")
