"""The tools of everybody: what they tell whom, and what they never do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from bbops.compiler.check._supported import find_unsupported_parts
from bbops.interfaces.mcp.skills import read_skills
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import GrantScope, Role
from bbops_server.mcp.servers import PUBLIC, tools_of
from tests.support.agents import MCP, Agent, give
from tests.support.control import HASH, URL, Tried, tried

__all__ = ["tried"]

OPEN = {
    "platform_help", "platform_get_onboarding", "platform_get_tool_map", "docs_search",
    "template_list", "addon_list",
}  # fmt: skip


@pytest.fixture
def nobody(tried: Tried) -> Agent:
    return Agent(tried)


@pytest.fixture
def ada(tried: Tried) -> Agent:
    return Agent(tried, give(tried, "ada@example.com", GrantScope.BUILDER))


def test_the_tools_are_those_of_the_specification() -> None:
    tools = tools_of(PUBLIC)
    assert set(tools) == OPEN | {
        "project_list", "project_select", "project_connect", "project_create",
        "project_get_mcp_manifest", "project_get_public_context", "account_status",
        "account_setup",
    }  # fmt: skip
    assert {name for name, one in tools.items() if not one.scope} == OPEN
    assert [name for name, one in tools.items() if not one.hints.reads_only] == ["account_setup"]


@pytest.mark.parametrize("tool", sorted(OPEN - {"docs_search"}))
def test_what_is_open_answers_everybody(nobody: Agent, ada: Agent, tool: str) -> None:
    for agent in (nobody, ada):
        result = agent.result(tool)
        assert len(result["next"]) <= 3
        assert len(str(result)) < 20_000


def test_every_next_call_can_be_made_as_it_stands(ada: Agent) -> None:
    known, asked = tools_of(PUBLIC), dict[str, dict[str, Any]]()
    wanted = [("platform_get_onboarding", {})]
    while wanted:
        tool, arguments = wanted.pop()
        if tool in asked or tool == "account_setup":
            continue
        asked[tool] = ada.result(tool, arguments)
        wanted += [(one["tool"], one["arguments"]) for one in asked[tool]["next"]]
    assert asked.keys() <= known.keys()
    assert "project_connect" in asked


def test_onboarding_begins_where_somebody_stands(nobody: Agent, ada: Agent) -> None:
    assert nobody.result("platform_get_onboarding")["steps"][0]["tool"] == "project_list"
    known = ada.result("platform_get_onboarding")
    assert (known["signedInAs"], known["scopes"]) == ("ada@example.com", ["builder", "project"])


def test_the_map_says_what_each_tool_takes(nobody: Agent) -> None:
    found = nobody.result("platform_get_tool_map")
    assert found["public"]["address"] == MCP
    lines = {one["name"]: one for one in found["public"]["tools"]}
    assert (lines["project_list"]["scope"], lines["docs_search"]["scope"]) == ("project", "")


# ---- documentation
@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("cursor paging", "language/steps/find.md"),
        ("send an email", "language/addons/email.md"),
        ("sign in by cookie", "sessions.md"),
        ("roll back to a version", "versions.md"),
        ("route-conflict", "errors/references.md"),
        ("pagination", "language/steps/find.md"),
        ("rate limit", "language/channel.md"),
    ],
)
def test_a_search_finds_the_page(nobody: Agent, query: str, page: str) -> None:
    results = nobody.result("docs_search", {"query": query})["results"]
    assert any(f"{URL}/docs/{page}#" in one["url"] for one in results)
    assert all(len(one["snippet"]) < 1_000 for one in results)


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("how do I make an endpoint", "language/endpoint.md#endpoint"),
        ("[unknown-column]", "errors/references.md#unknown-column"),
        ("api keys", "sessions.md#api-keys"),
    ],
)
def test_what_says_how_it_is_done_comes_first(nobody: Agent, query: str, page: str) -> None:
    assert nobody.result("docs_search", {"query": query})["results"][0]["url"].endswith(page)


@pytest.mark.parametrize("query", ["", "  ", '"', "a AND", "NEAR(", "x* OR", "((((", "\x00", "é ü"])
def test_any_words_are_a_query(nobody: Agent, query: str) -> None:
    assert isinstance(nobody.result("docs_search", {"query": query})["results"], list)


def test_a_search_is_bounded(nobody: Agent) -> None:
    assert len(nobody.result("docs_search", {"query": "table", "limit": 2})["results"]) == 2
    assert "<= 20" in nobody.refusal("docs_search", {"query": "table", "limit": 21})
    assert "<= 200" in nobody.refusal("docs_search", {"query": "x" * 201})


def test_what_is_not_run_is_told_by_the_language_itself(nobody: Agent) -> None:
    parts = find_unsupported_parts()
    told = nobody.result("platform_help")["notSupported"]
    assert told == [*parts.kinds, *parts.steps, *parts.addon_steps]
    addons = nobody.result("addon_list")["addons"]
    assert [one["id"] for one in addons if one.get("notSupported")] == [*parts.addons]
    steps = [step for one in addons for step in one["steps"]]
    assert [one["name"] for one in steps if one.get("notSupported")] == [*parts.addon_steps]


def test_addons_are_listed_and_told_in_detail(nobody: Agent) -> None:
    addons = {one["id"]: one for one in nobody.result("addon_list")["addons"]}
    assert addons["chatModel"]["secrets"] == ["apiKey"]
    assert addons["email"]["service"] == "SendGrid"
    assert addons["email"]["keySource"] == "https://app.sendgrid.com/settings/api_keys"
    (one,) = nobody.result("addon_list", {"addon": "chatModel"})["addons"]
    assert one["steps"][0]["parameters"][0]["name"] == "model"
    assert "did you mean 'chatModel'?" in nobody.refusal("addon_list", {"addon": "chatModl"})


# ---- projects
def test_projects_are_those_somebody_has_a_role_in(tried: Tried, ada: Agent) -> None:
    (line,) = ada.result("project_list")["projects"]
    assert (line["projectId"], line["role"]) == ("small", "owner")
    tried.add("eve@example.com")
    eve = Agent(tried, give(tried, "eve@example.com", GrantScope.PROJECT))
    assert eve.result("project_list")["projects"] == []


@pytest.mark.parametrize(
    "tool",
    ["project_select", "project_connect", "project_get_mcp_manifest", "project_get_public_context"],
)
def test_who_lacks_access_is_told_who_gives_it_and_where(
    tried: Tried, ada: Agent, tool: str
) -> None:
    tried.add("eve@example.com")
    eve = Agent(tried, give(tried, "eve@example.com", GrantScope.PROJECT))
    said = eve.refusal(tool, {"projectId": "small"})
    assert "an owner of this server" in said
    assert f"{URL}/people" in said
    assert "ada" not in said.lower()
    assert said == ada.refusal(tool, {"projectId": "xxxxx"}).replace("xxxxx", "small")


def test_a_selection_is_the_exact_address(tried: Tried, ada: Agent) -> None:
    url = ada.result("project_select", {"projectId": "small"})["mcpUrl"]
    key = tried.book.addresses.of("small")
    assert url == f"{MCP}/p/{key}"
    assert "small" not in url
    manifest = ada.result("project_get_mcp_manifest", {"projectId": "small"})
    assert manifest["mcpUrl"] == url
    assert manifest["signIn"]["metadataUrl"].endswith(f"/oauth-protected-resource/mcp/p/{key}")


def test_a_workspace_is_bound_by_steps_without_a_token(tried: Tried) -> None:
    token = give(tried, "ada@example.com", GrantScope.PROJECT)
    plan = Agent(tried, token).result("project_connect", {"projectId": "small"})
    assert plan["serverName"] == "bbops-small"
    assert token not in str(plan)
    assert not re.search(r"bb[abcdpr]_|[Bb]earer|Authorization", str(plan))
    entries = plan["steps"][0]["entries"]
    assert {"claude-code", "cursor", "vscode"} <= {one["client"] for one in entries}
    paths = [Path(one["path"]) for one in (*plan["steps"], *entries) if "path" in one]
    assert all(not path.is_absolute() and ".." not in path.parts for path in paths)
    assert not any("~" in path.parts for path in paths)
    assert {one["digest"] for one in plan["steps"] if "digest" in one} == {
        one.digest for one in read_skills().values()
    }


def test_a_workspace_is_bound_for_the_client_that_asks(ada: Agent) -> None:
    plan = ada.result("project_connect", {"projectId": "small", "client": "claude-code"})
    (entry,) = plan["steps"][0]["entries"]
    assert (entry["path"], entry["keys"]) == (".mcp.json", ["mcpServers", "bbops-small"])
    assert entry["patch"] == {"type": "http", "url": plan["mcpUrl"]}
    assert plan["steps"][2]["path"] == ".claude/skills/evaluator/SKILL.md"
    own = ada.result("project_connect", {"projectId": "small", "client": "windsurf"})
    assert own["steps"][0]["kind"] == "ask_user"
    said = ada.refusal("project_connect", {"projectId": "small", "client": "claude"})
    assert "claude-code" in said


def test_a_project_tells_its_public_context(ada: Agent) -> None:
    found = ada.result("project_get_public_context", {"projectId": "small"})
    assert (found["url"], found["ready"]) == ("http://127.0.0.1:8000", True)
    assert found["routes"] == []


def test_a_project_is_only_shown_and_never_made(ada: Agent, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    found = ada.result("project_create", {"name": "Web Shop"})
    assert (found["created"], found["name"], found["taken"]) == (False, "web-shop", False)
    assert "project.yaml" in [one["path"] for one in found["files"]]
    assert found["commands"][0] == "bbops init web-shop"
    assert sorted(tmp_path.rglob("*")) == before
    assert ada.result("project_create", {"name": "small"})["taken"] is True
    assert ada.result("project_create", {"name": "$(rm -rf ~)"})["name"] == "rm-rf"


# ---- the account
def test_what_is_missing_of_an_account_is_filled_in_once(tried: Tried) -> None:
    tried.book.people.add(NewPerson("new@example.com", "", "", HASH, role=Role.VIEWER))
    agent = Agent(tried, give(tried, "new@example.com", GrantScope.BUILDER))
    assert agent.result("account_status")["missingFields"] == ["name", "company"]
    assert agent.result("account_setup", {"name": "Bob"})["missingFields"] == ["company"]
    status = agent.result("account_status")
    assert (status["name"], status["missingFields"]) == ("Bob", ["company"])
    assert status["next"][0]["tool"] == "account_setup"
    assert "agents cannot change profiles" in agent.refusal("account_setup", {"name": "Eve"})
    assert agent.result("account_status")["name"] == "Bob"
    noted = tried.book.audit.list()
    assert [one.action for one in noted] == ["change profile"]


def test_a_profile_is_one_line_each(tried: Tried) -> None:
    tried.book.people.add(NewPerson("new@example.com", "", "", HASH))
    agent = Agent(tried, give(tried, "new@example.com", GrantScope.BUILDER))
    assert "one line" in agent.refusal("account_setup", {"name": "a\nb"})


def test_an_unexpected_failure_says_nothing_of_itself(
    ada: Agent, tried: Tried, caplog: pytest.LogCaptureFixture
) -> None:
    tried.source.projects = None  # type: ignore[assignment,method-assign]
    said = ada.refusal("project_list")
    assert said == "internal error; see the server's log"
    assert "tool project_list failed" in caplog.text


def test_a_book_that_is_away_is_said_without_its_place(
    tried: Tried, ada: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    ada.result("account_status")
    tried.book.close()
    file = tried.settings.state / "control.sqlite"
    file.rename(file.with_suffix(".gone"))
    file.mkdir()
    said = ada.refusal("account_status")
    file.rmdir()
    assert said == "accounts are temporarily unavailable\nhint: try again in a moment"
    assert str(file) in caplog.text


def test_answers_are_not_kept_by_anybody(nobody: Agent) -> None:
    answer: httpx.Response = nobody.call("platform_help")
    assert answer.headers["cache-control"] == "no-store"
