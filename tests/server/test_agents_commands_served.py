"""`bbops agents` with a real server: runs, decisions, and chats on a terminal and in a pipe."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from bbops.source.git import store
from tests.support import warm
from tests.support.agent_desk import agent_desk
from tests.support.helpdesk import Helpdesk, files, helpdesk, talk
from tests.support.models import Call, Say
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.receiving import shown
from tests.support.served import Served, environment, git

__all__ = ["helpdesk"]
pytestmark = pytest.mark.long

ADD_TEA = [Call("notes__add", {"text": "tea"}), Say("It is there.")]
CLEAR = "\x1b[2J"
"""A sequence that clears a terminal, as hostile texts contain it."""


def type_lines(served: Served, typed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a terminal as its input, and type lines; `\\x04` ends the input."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    process = warm.start(
        arguments, cwd=served.home, stdin=theirs, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(served.home) | {"BBOPS_SERVER": served.serving["control_url"]},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout as printed, process.stderr as noted:
            said, notes = printed.read(), noted.read()
        return subprocess.CompletedProcess(
            arguments, process.wait(PATIENCE_SECONDS), str(said), str(notes)
        )
    finally:
        os.close(theirs)
        os.close(ours)


def test_call_is_listed_approved_and_told_step_by_step(helpdesk: Helpdesk) -> None:
    served = helpdesk(ADD_TEA)
    talk(served, "Add a note about tea.")
    (call,) = shown(served, "agents", "approve")
    listed = served.bbops("agents", "approve").stdout
    assert call["id"] in listed
    assert 'notes/add {"text": "tea"}' in listed

    asked = served.bbops("agents", "approve", call["id"], stdin="n\n")
    assert (asked.returncode, shown(served, "agents", "approve")) == (1, [call])
    assert 'approve notes/add {"text": "tea"}?' in asked.stderr
    approved = served.bbops("agents", "approve", call["id"][:8], stdin="y\n")
    assert approved.stdout.startswith("approved notes/add; 'bbops agents traces agents/helpdesk/")
    wait_for(lambda: shown(served, "agents", "traces")[0]["state"] == "done")
    again = served.bbops("agents", "approve", call["id"], "--yes")
    assert again.returncode == 2
    assert f"no call waits with the id '{call['id']}'" in again.stderr

    (run,) = shown(served, "agents", "traces", "--agent", "helpdesk")
    assert shown(served, "agents", "traces", "--agent", "other") == []
    story = served.bbops("agents", "traces", run["name"]).stdout
    lines = [line.split()[0] for line in story.splitlines()[1:]]
    assert lines == [
        "chat", "message", "model", "calls", "tool", '{"id":1}', "model", "approval", "by", "answer"
    ]  # fmt: skip
    assert f"{run['tokens_in']} + {run['tokens_out']} tokens" in story
    assert shown(served, "agents", "traces", run["name"])["answer"] == "It is there."


def test_list_shows_the_agents_of_the_folder_and_their_runs(
    helpdesk: Helpdesk, tmp_path: Path
) -> None:
    served = helpdesk([Say("Hello.")])
    talk(served, "Hello")
    path = str(served.repository)
    (agent,) = shown(served, "agents", "list", "--path", path)
    assert (agent["name"], agent["starts"]) == ("helpdesk", ["chat", "event"])
    assert (agent["approvals"], agent["usage"]["runs"]) == (["notes/add"], 1)
    lines = served.bbops("agents", "list", "--path", path).stdout.splitlines()
    assert lines[:3] == [
        "helpdesk  aiModel large",
        "    starts  chat, event",
        "    tools   notes/add (approval), notes/list",
    ]
    assert lines[3].startswith("    day     1 run, ")
    served.stop()
    alone = tmp_path / "alone"
    store.init(
        alone, {name: text.encode() for name, text in files("https://models.example").items()},
        message="Start",
    )  # fmt: skip
    done = warm.run(
        ["agents", "list", "--path", str(alone), "--json"], cwd=alone, env=environment(served.home)
    )
    assert (done.returncode, json.loads(done.stdout)[0]["usage"]) == (0, None), done.stderr


def test_a_message_prints_the_answer_and_continues_the_chat(helpdesk: Helpdesk) -> None:
    served = helpdesk([Say(f"Hello{CLEAR}\nthere."), Say("Again.", expect="More")])
    first = served.bbops("agents", "chat", "helpdesk", "Hello")
    assert (first.returncode, first.stdout) == (0, "Hello\\x1b[2J\nthere.\n"), first.stderr
    chat = first.stderr.split()[-1]
    second = served.bbops("agents", "chat", "helpdesk", "--chat", chat, "--json", stdin="More")
    assert json.loads(second.stdout) == {"chat": chat, "answer": "Again.", "approvals": []}


def test_call_that_waits_makes_a_script_fail_with_the_command_that_decides(
    helpdesk: Helpdesk,
) -> None:
    served = helpdesk(ADD_TEA)
    done = served.bbops("agents", "chat", "helpdesk", "Add a note.")
    (call,) = shown(served, "agents", "approve")
    assert done.returncode == 1
    assert f"bbops agents approve {call['id']}" in done.stderr
    chat = done.stderr.split()[-1]
    busy = served.bbops("agents", "chat", "helpdesk", "More", "--chat", chat)
    assert busy.returncode == 2
    assert "the turn before is under way" in busy.stderr


@pytest.mark.parametrize("answer", ["y", "n"])
def test_terminal_asks_about_calls_between_lines(helpdesk: Helpdesk, answer: str) -> None:
    served = helpdesk([*ADD_TEA, Say("Bye.", expect="Thanks")])
    typed = f"Add a note.\n{answer}\nThanks\n\x04"
    done = type_lines(served, typed, "agents", "chat", "helpdesk")
    assert (done.returncode, done.stdout) == (0, "It is there.\nBye.\n"), done.stderr
    assert 'approve notes/add {"text": "tea"}?' in done.stderr
    notes = served.api.get("/notes").json()
    assert [note["text"] for note in notes] == ["tea"] * (answer == "y")


def test_user_decides_about_calls_of_their_chat(tmp_path: Path) -> None:
    script = [Call("notes__create", {"title": "Secret"}), Say("Done.")]
    with agent_desk(tmp_path, script) as desk:
        token = desk.sign_up()["authorization"].removeprefix("Bearer ")
        refused = desk.bbops("agents", "chat", "keeper", "Note it.")
        assert refused.returncode == 2
        assert "BBOPS_PROJECT_TOKEN" in refused.stderr
        arguments = ("agents", "chat", "keeper", "Note it.", "--token", token)
        done = type_lines(desk, "y\n", *arguments)
        assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
        assert token not in done.stderr
        assert desk.query("SELECT title FROM notes") == [("Secret",)]
        (run,) = shown(desk, "agents", "traces")
        (call,) = shown(desk, "agents", "traces", run["name"])["calls"]
        assert (call["state"], call["decided_by"]) == ("approved", run["owner"])


def test_turn_of_a_draft_is_held_until_its_jobs_run(helpdesk: Helpdesk) -> None:
    served = helpdesk([])
    state = ("--state", str(served.repository / ".bbops/state"))
    assert served.bbops("env", "set", "AI_KEY", "of-drafts", "--drafts", *state).returncode == 0
    git(served.repository, "branch", "topic")
    wait_for(lambda: shown(served, "drafts", "list"))
    held = served.bbops("agents", "chat", "helpdesk", "Hello", "--draft", "topic")
    assert held.returncode == 2
    assert "job is held" in held.stderr
    assert "bbops drafts work" in held.stderr
    (run,) = shown(served, "agents", "traces", "--draft", "topic")
    assert run["state"] == "held"
    assert shown(served, "agents", "approve", "--draft", "topic") == []
    assert shown(served, "agents", "traces") == []


def test_agent_that_does_not_exist_and_an_empty_message_are_refused(helpdesk: Helpdesk) -> None:
    served = helpdesk([])
    missing = served.bbops("agents", "chat", "nobody", "Hello")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "'nobody' is not an agent with a chat here" in missing.stderr
    empty = served.bbops("agents", "chat", "helpdesk", stdin="")
    assert empty.returncode == 2
    assert "the message is missing" in empty.stderr
