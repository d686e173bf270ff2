"""Chats with an agent on a real server, which asks a model over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.agent_desk import agent_desk
from tests.support.models import Call, Say
from tests.support.patience import wait_for

pytestmark = pytest.mark.long

EVE = {"email": "eve@example.com", "name": "Eve"}


@pytest.mark.parametrize("addon", ["aiModel", "chatModel"])
def test_an_agent_answers_with_the_tools_of_its_user(tmp_path: Path, addon: str) -> None:
    script = [
        Call("notes__create", {"title": "Tea"}),
        Call("notes__list", {}, expect="Tea"),
        Say("There is one note: Tea."),
        Say("As I said: Tea."),
    ]
    with agent_desk(tmp_path, script, addon=addon) as desk:
        ada, eve = desk.sign_up(), desk.sign_up(**EVE)
        status, told = desk.say(ada, "Note tea, and list my notes.")
        assert (status, told["answer"], told["approvals"]) == (200, "There is one note: Tea.", [])
        assert desk.query("SELECT title FROM notes") == [("Tea",)]
        status, again = desk.say(ada, "Which?", chat=told["chat"])
        assert (status, again["answer"], again["chat"]) == (200, "As I said: Tea.", told["chat"])
        assert desk.say(eve, "Which?", chat=told["chat"])[0] == 404
        page = f"/~agents/keeper/chats/{told['chat']}"
        assert desk.api.get(page, headers=eve).status_code == 404
        shown = desk.api.get(page, headers=ada).json()
        texts = [message["text"] for message in shown["messages"]]
        assert texts == [
            "Note tea, and list my notes.", "There is one note: Tea.", "Which?", "As I said: Tea.",
        ]  # fmt: skip
        assert desk.api.post("/~agents/keeper", json={"message": "hi"}).status_code == 401
        assert desk.say(ada, "")[0] == 400


def test_a_call_waits_for_its_user_and_nobody_else(tmp_path: Path) -> None:
    script = [Call("notes__create", {"title": "Secret"}), Say("Done.")]
    with agent_desk(tmp_path, script) as desk:
        ada, eve = desk.sign_up(), desk.sign_up(**EVE)
        status, told = desk.say(ada, "Note it.")
        assert (status, told["answer"]) == (202, None)
        (approval,) = told["approvals"]
        assert (approval["tool"], approval["arguments"]) == ("notes/create", {"title": "Secret"})
        status, busy = desk.say(ada, "And?", chat=told["chat"])
        assert (status, busy["error"]["code"]) == (409, "chatBusy")
        shown = desk.api.get(f"/~agents/keeper/chats/{told['chat']}", headers=ada).json()
        assert (shown["state"], shown["approvals"]) == ("waiting", [approval])
        where = f"/~agents/keeper/approvals/{approval['id']}"
        assert desk.api.post(where, json={"approve": True}, headers=eve).status_code == 404
        assert desk.query("SELECT title FROM notes") == []
        done = desk.api.post(where, json={"approve": True}, headers=ada)
        assert (done.status_code, done.json()["answer"]) == (200, "Done.")
        assert desk.query("SELECT title FROM notes") == [("Secret",)]
        assert desk.api.post(where, json={"approve": True}, headers=ada).status_code == 409


def test_a_chat_can_be_read_as_it_goes_on(tmp_path: Path) -> None:
    script = [Call("notes__list", {}), Say("There is nothing.")]
    with agent_desk(tmp_path, script) as desk:
        headers = {**desk.sign_up(), "accept": "text/event-stream"}
        answer = desk.api.post("/~agents/keeper", json={"message": "List."}, headers=headers)
        names = [line for line in answer.text.splitlines() if line.startswith("event:")]
        assert names == ["event: tool", "event: text", "event: done"]
        assert '"answer":"There is nothing."' in answer.text


def test_chat_accepts_a_single_message_at_a_time(tmp_path: Path) -> None:
    script = [Say("Hello."), Say("Again.")]
    with agent_desk(tmp_path, script) as desk, ThreadPoolExecutor(4) as threads:
        ada = desk.sign_up()
        _, told = desk.say(ada, "Hello")
        desk.models.gate.clear()
        asked = [threads.submit(desk.say, ada, "And?", chat=told["chat"]) for _ in range(4)]
        wait_for(lambda: sum(call.done() for call in asked) == 3)
        desk.models.gate.set()
        answers = sorted(status for status, _ in (call.result() for call in asked))
        assert answers == [200, 409, 409, 409]
        assert desk.query("SELECT count(*) FROM _bbops_runs") == [(2,)]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_message_that_is_not_json_is_refused(tmp_path: Path, kind: str) -> None:
    with agent_desk(tmp_path, []) as desk:
        headers = {**desk.sign_up(), "content-type": kind}
        reply = desk.api.post("/~agents/keeper", content=b"message=hi", headers=headers)
        assert reply.status_code == 415
        assert reply.json()["error"]["code"] == "unsupportedMediaType"


def test_chat_goes_on_after_its_agent_is_renamed(tmp_path: Path) -> None:
    with agent_desk(tmp_path, [Say("Hello."), Say("Again.")]) as desk:
        ada = desk.sign_up()
        _, told = desk.say(ada, "Hello")
        old, new = (desk.repository / f"agents/{name}.yaml" for name in ("keeper", "clerk"))
        new.write_text(f"{old.read_text()}renamedFrom: keeper\n")
        old.unlink()
        desk.commit()
        desk.live()
        body = {"message": "And?", "chat": told["chat"]}
        reply = desk.api.post("/~agents/clerk", json=body, headers=ada)
        assert (reply.status_code, reply.json()["answer"]) == (200, "Again.")
        page = desk.api.get(f"/~agents/clerk/chats/{told['chat']}", headers=ada).json()
        assert [message["text"] for message in page["messages"]] == [
            "Hello", "Hello.", "And?", "Again."
        ]  # fmt: skip
