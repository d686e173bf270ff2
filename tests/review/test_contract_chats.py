"""The routes of agents with a chat in the contract of a project."""

from __future__ import annotations

import pytest

from bbops.compiler.check import validate
from bbops.review.contract.contract import Contract, Operation
from bbops.review.contract.describe import describe
from bbops.source.tree import MemoryTree

pytestmark = pytest.mark.quick

PROJECT = """
bbops: 1
name: desk
env:
  JWT_SECRET: { secret: true }
  AI_KEY: { secret: true }
auth: { users: users, signingKey: "${ env.JWT_SECRET }" }
"""
USERS = "columns:\n  id: { type: integer, primaryKey: true }\n"
ADDON = 'enabled: true\nconfig: { apiKey: "${ env.AI_KEY }" }\n'


def agent(starts: str, more: str = "") -> str:
    model = "model: { addon: aiModel, name: large }\ninstructions: Help.\n"
    return f"description: Helps.\n{model}{more}runsOn: {{ {starts} }}\n"


def contract(**agents: str) -> Contract:
    files = {"project.yaml": PROJECT, "tables/users.yaml": USERS, "addons/aiModel.yaml": ADDON}
    files |= {f"agents/{name}.yaml": text for name, text in agents.items()}
    project, problems = validate(MemoryTree(files))
    assert project is not None, problems
    return describe(project)


def operations(**agents: str) -> dict[str, Operation]:
    return {operation.id: operation for operation in contract(**agents).operations}


def test_a_chat_with_users_has_three_operations() -> None:
    found = operations(desk=agent("chat: { authentication: JWT, rateLimit: 5 }"))
    assert [*found] == ["agents.desk.say", "agents.desk.decide", "agents.desk.show"]
    say = found["agents.desk.say"]
    assert (say.method, say.path, say.security) == ("POST", "/~agents/desk", ("bearer",))
    assert (say.rate_limit, say.rate_per, say.is_chat) == (5, "1m", True)
    assert say.body is not None
    assert say.body.schema is not None
    assert {answer.status for answer in say.answers} == {
        200, 202, 400, 401, 404, 409, 429, 502, 503,
    }  # fmt: skip


def test_a_visitor_decides_about_no_call() -> None:
    found = operations(desk=agent("chat: { authentication: None }"))
    assert sorted(found) == ["agents.desk.say", "agents.desk.show"]
    assert all(operation.is_open for operation in found.values())


def test_the_answer_has_the_shape_of_the_output() -> None:
    text = agent("chat: { authentication: None }", "output: { label: string }\n")
    shapes = contract(desk=text).shapes
    answer = shapes["AgentsDeskSayAnswer"]["properties"]["answer"]
    assert answer["properties"] == {"label": {"type": "string"}}


def test_agents_without_a_chat_have_no_operations() -> None:
    disabled = agent("chat: { authentication: None }", "enabled: false\n")
    assert operations(clerk=agent("schedule: 0 8 * * 1"), off=disabled) == {}
