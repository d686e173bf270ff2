"""Coding agents read the runs of a project's own agents, and decide nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbops.source.git import store
from bbops_server.accounts.rules import GRANTED, Permission
from tests.support.agents_at_server import House
from tests.support.helpdesk import files
from tests.support.models import KEY, Call, scripted_models
from tests.support.patience import wait_for

SERVER = """
projects:
  shop: { repository: ./shop, pathPrefix: /shop }
egress: { allow: [127.0.0.1] }
"""


@pytest.mark.long
def test_waiting_calls_and_the_steps_of_a_run_are_read(tmp_path: Path) -> None:
    with scripted_models([Call("notes__add", {"text": "tea"})]) as models:
        project = f"bbops: 1\nname: shop\nenv:\n  AI_KEY: {{ default: {KEY} }}\n"
        tree = {**files(models.url), "project.yaml": project}
        store.init(
            tmp_path / "shop", {name: text.encode() for name, text in tree.items()}, message="Start"
        )
        with House(tmp_path, SERVER) as house:
            chat = house.api.post("/shop/~agents/helpdesk", json={"message": "Add tea"})
            assert chat.status_code == 202, chat.text
            agent = house.agent()

            def waiting() -> list[dict[str, Any]]:
                found: list[dict[str, Any]] = agent.call("work_list")["waiting"]
                return found

            (call,) = wait_for(waiting)
            assert (call["tool"], call["arguments"]) == ("notes/add", '{"text":"tea"}')
            run = agent.call("work_show", job=call["job"])["run"]
            assert run["state"] == "waiting"
            assert [step["kind"] for step in run["steps"]] == ["message", "model"]
            assert run["steps"][0]["text"] == "Add tea"
            assert "notes/add" in run["steps"][1]["calls"]


def test_no_scope_of_an_agent_decides_about_calls() -> None:
    assert all(Permission.DECIDE_CALLS not in granted for granted in GRANTED.values())
