"""Runs of agents on a real server, as its operators see them, and decisions about their calls."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.helpdesk import FILES, Helpdesk, helpdesk, talk
from tests.support.models import Broken, Call, Say
from tests.support.patience import wait_for
from tests.support.served import Served

__all__ = ["helpdesk"]
pytestmark = pytest.mark.long

ADD_TEA = [Call("notes__add", {"text": "tea"}), Say("It is there.")]
API = "/api/projects/desk/agents"


def get(served: Served, path: str) -> Any:
    reply = served.control.get(f"{API}/{path}")
    assert reply.status_code == 200, reply.text
    return reply.json()


def decide(served: Served, call: str, *, approve: bool) -> Any:
    reply = served.control.post(f"{API}/calls/decide", json={"call": call, "approve": approve})
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.parametrize("approve", [True, False])
def test_call_waits_until_a_member_decides(helpdesk: Helpdesk, approve: bool) -> None:
    served = helpdesk(ADD_TEA)
    chat = talk(served, "Add a note about tea.")
    assert chat["answer"] is None
    (call,) = get(served, "calls")
    assert (call["agent"], call["tool"], call["arguments"]) == (
        "helpdesk", "notes/add", {"text": "tea"}
    )  # fmt: skip
    (run,) = get(served, "runs?agent=helpdesk")
    assert (run["state"], run["start"], run["chat"]) == ("waiting", "chat", chat["chat"])
    assert served.api.get("/notes").json() == []

    decided = decide(served, call["id"], approve=approve)
    state = "approved" if approve else "rejected"
    assert (decided["is_changed"], decided["call"]["state"]) == (True, state)
    assert decide(served, call["id"], approve=not approve)["is_changed"] is False
    wait_for(lambda: get(served, "runs")[0]["state"] == "done")
    assert [note["text"] for note in served.api.get("/notes").json()] == ["tea"] * approve
    assert get(served, "calls") == []

    story = get(served, f"runs/story?run={run['name']}")
    assert story["answer"] == "It is there."
    kinds = [step["kind"] for step in story["steps"]]
    assert kinds == ["message", "model", "tool", "model"]
    assert story["steps"][2]["is_error"] is not approve
    assert story["calls"][0]["decided_by"] == "this machine's user"
    assert story["run"]["money"] > 0
    (usage,) = get(served, "usage")
    assert (usage["agent"], usage["runs"], usage["failed"]) == ("helpdesk", 1, 0)
    assert usage["tokens_in"] == story["run"]["tokens_in"] > 0
    tokens = usage["tokens_in"] + usage["tokens_out"]  # the second attempt replays the first answer
    line = f'bbops_agent_tokens_total{{project="desk",agent="helpdesk"}} {tokens}'
    wait_for(lambda: line in served.control.get("/metrics").text)


def test_unknown_run_and_unknown_call_are_refused_with_a_hint(helpdesk: Helpdesk) -> None:
    served = helpdesk([])
    reply = served.control.get(f"{API}/runs/story?run=nothing")
    assert reply.status_code == 404, reply.text
    assert "there is no run 'nothing'" in reply.text
    assert "bbops agents traces" in reply.text
    reply = served.control.post(f"{API}/calls/decide", json={"call": "nothing", "approve": True})
    assert reply.status_code == 404, reply.text
    assert "there is no call 'nothing'" in reply.text


def test_call_of_a_cancelled_run_waits_no_longer(helpdesk: Helpdesk) -> None:
    served = helpdesk(ADD_TEA)
    talk(served, "Add a note about tea.")
    (call,) = get(served, "calls")
    assert served.bbops("jobs", "cancel", call["run"]).returncode == 0
    assert get(served, "calls") == []
    assert decide(served, call["id"], approve=True)["is_changed"] is False
    (run,) = get(served, "runs")
    assert run["state"] == "failed"


def test_agent_is_found_by_search_and_by_the_name_of_its_requests(helpdesk: Helpdesk) -> None:
    served = helpdesk([])
    found = served.control.get("/api/projects/desk/search", params={"q": "helpdesk"}).json()
    entries = [(entry["text"], entry["kind"], entry["url"]) for entry in found["entries"]]
    page = "/projects/desk/agents?agent=helpdesk"
    assert ("helpdesk", "agent", page) in entries
    reply = served.control.get("/projects/desk/endpoints/agents/helpdesk", follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (303, page)


def test_refused_request_of_a_chat_is_not_repeated(helpdesk: Helpdesk) -> None:
    served = helpdesk([Broken(status=401), Say("Hello.")])
    reply = served.api.post("/~agents/helpdesk", json={"message": "Hello"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "agentFailed")
    (run,) = get(served, "runs")
    assert run["state"] == "failed"
    assert "answered 401" in run["error"]


def test_schedule_of_an_agent_runs_by_the_name_of_the_agent(
    helpdesk: Helpdesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    morning = (
        "description: Sums up.\nmodel: { addon: aiModel, name: large }\n"
        "instructions: Sum up.\nrunsOn: { schedule: 0 8 * * * }\n"
    )
    monkeypatch.setitem(FILES, "agents/morning.yaml", morning)
    served = helpdesk([Say("It was quiet.")])
    started = served.bbops("tasks", "run", "agents/morning")
    assert started.returncode == 0, started.stderr
    wait_for(lambda: [run["state"] for run in get(served, "runs?agent=morning")] == ["done"])
