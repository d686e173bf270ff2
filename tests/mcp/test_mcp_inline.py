"""Agents put steps into an endpoint: it is previewed, fails at its line, and is found as others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.agents_at_server import House
from tests.support.mcp_house import house

__all__ = ["house"]


def put(*steps: Any, **more: Any) -> dict[str, Any]:
    body = {
        "method": "GET", "path": "/hello", "authentication": "None", "description": "Says hello.",
        "steps": [*steps], **more,
    }  # fmt: skip
    return {"op": "put", "ref": "endpoint/hello", "body": body}


@pytest.mark.long
def test_steps_of_an_endpoint_answer_in_a_draft(house: House) -> None:
    agent = house.agent()
    query = {"name?": "string"}
    agent.change("inline", put({"return": "${ query.name | default('you') }"}, query=query))
    found = agent.call(
        "preview_request", draft="inline", method="GET", path="/hello", query={"name": "Ada"}
    )
    assert (found["status"], found["body"]) == (200, "Ada")


@pytest.mark.long
def test_a_failure_in_a_draft_has_the_line_of_the_endpoint(house: House) -> None:
    agent = house.agent()
    steps = [{"set": {"x": "${ '{}' | parseJson }"}}, {"return": "${ 1 + vars.x.y }"}]
    agent.change("inline-fails", put(*steps))
    found = agent.call("preview_request", draft="inline-fails", method="GET", path="/hello")
    assert found["status"] == 400
    assert found["step"].startswith("endpoints/hello.yaml:")
    assert found["next"][0]["arguments"] == {"refs": ["endpoint/hello"], "draft": "inline-fails"}


def test_a_wrong_step_of_an_endpoint_is_told_with_its_ref(house: House) -> None:
    agent = house.agent()
    agent.change("inline-wrong", put({"return": "${ vars.nobody }"}))
    found = agent.call("validate_draft", draft="inline-wrong")
    assert not found["ok"]
    errors = [one for one in found["diagnostics"] if one["severity"] == "error"]
    assert [one["ref"] for one in errors] == ["endpoint/hello"]
