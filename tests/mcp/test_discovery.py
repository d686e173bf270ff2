"""What programs read before they connect: complete, from every origin, and the same everywhere."""

from __future__ import annotations

import hashlib
import json
import re

import httpx
import jsonschema
import pytest

from bbops.interfaces.cli import mcp
from bbops.interfaces.mcp.clients import CLIENTS
from bbops.interfaces.mcp.skills import read_skills
from bbops_server.mcp.discovery import DOCUMENTS, read_document
from tests.conftest import ROOT
from tests.support.agents import MCP
from tests.support.control import URL, Browser, Tried, tried

__all__ = ["tried"]

CARD = {
    "type": "object",
    "additionalProperties": False,
    "required": ["$schema", "description", "name", "version"],
    "properties": {
        "$schema": {"pattern": r"^https://static\.modelcontextprotocol\.io/schemas/v2/server-card"},
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string"},
        "websiteUrl": {"type": "string"},
        "remotes": {"items": {"required": ["type", "url"]}},
    },
}
"""What counts of the schema in the repository modelcontextprotocol/experimental-ext-server-card."""


@pytest.fixture
def browser(tried: Tried) -> Browser:
    return tried.browser()


def read(browser: Browser, path: str) -> httpx.Response:
    answer = browser.call("GET", path, headers={"origin": "https://elsewhere.example"})
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("path", [*DOCUMENTS, "/docs/language/task.md", "/skills/safety/SKILL.md"])
def test_everybody_reads_it_and_keeps_it_for_an_hour(browser: Browser, path: str) -> None:
    answer = read(browser, path)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["x-content-type-options"] == "nosniff"
    etag = answer.headers["etag"]
    again = browser.call("GET", path, headers={"if-none-match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)


@pytest.mark.parametrize("path", ["/.well-known/mcp.json", "/mcp/server-card"])
def test_the_card_says_where_the_server_is(browser: Browser, path: str) -> None:
    answer = read(browser, path)
    assert answer.headers["content-type"].startswith("application/mcp-server-card+json")
    jsonschema.validate(answer.json(), CARD)
    (remote,) = answer.json()["remotes"]
    assert (remote["type"], remote["url"]) == ("streamable-http", MCP)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://bbops.example.com", "com.example.bbops/bbops"),
        ("http://127.0.0.1:8001", "127.0.0.1/bbops"),
        ("http://[::1]:8001", "--1/bbops"),
        ("http://localhost:8001", "localhost/bbops"),
    ],
)
def test_a_card_has_the_name_of_its_host(url: str, name: str) -> None:
    found = read_document(url, "/mcp/server-card")
    assert found is not None
    card = json.loads(found.body)
    jsonschema.validate(card, CARD)
    assert card["name"] == name


def test_the_catalog_leads_to_the_card(browser: Browser) -> None:
    (entry,) = read(browser, "/.well-known/ai-catalog.json").json()["entries"]
    assert entry["url"] == f"{URL}/mcp/server-card"
    assert entry["type"] == "application/mcp-server-card+json"


def test_the_manifest_says_how_every_client_is_installed(browser: Browser) -> None:
    found = read(browser, "/mcp/install-manifest").json()
    assert {one["name"] for one in found["clients"]} == set(CLIENTS)
    claude = next(one for one in found["clients"] if one["name"] == "claude-code")
    assert claude["entry"] == {"type": "http", "url": MCP}
    assert claude["keys"] == ["mcpServers", "bbops"]
    assert found["oauth"]["protectedResource"].endswith("/.well-known/oauth-protected-resource/mcp")
    assert "mcpUrl" in found["projectServers"]
    for words in found["commands"].values():
        assert mcp.command.get_command(None, words.split()[2]) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/skills/skills.json", "/.well-known/agent-skills/index.json"])
def test_each_skill_is_where_the_index_says_with_its_digest(browser: Browser, path: str) -> None:
    skills = read(browser, path).json()["skills"]
    assert {one["name"] for one in skills} == set(read_skills())
    for one in skills:
        text = read(browser, one["url"].removeprefix(URL)).content
        assert one["digest"] == f"sha256:{hashlib.sha256(text).hexdigest()}"


def test_a_folder_of_skills_is_a_page_with_links(browser: Browser) -> None:
    assert f"[safety]({URL}/skills/safety/SKILL.md)" in read(browser, "/skills/").text


def test_every_page_is_listed_and_every_link_leads_to_one(browser: Browser) -> None:
    text = read(browser, "/llms.txt").text
    assert text.startswith("# bbops\n\n> ")
    listed = re.findall(rf"\]\({re.escape(URL)}([^)]*)\)", text)
    for path in listed:
        read(browser, path)
    pages = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if "decisions" not in path.parts and "example" not in path.parts
        and path.name not in {"style.md", "bench.md"}  # for those who work on bbops
    ]  # fmt: skip
    assert {f"/{one}" for one in pages} == {one for one in listed if one.startswith("/docs/")}


def test_all_pages_are_in_the_one_large_one(browser: Browser) -> None:
    text = read(browser, "/llms-full.txt").text
    assert (ROOT / "docs/tutorial.md").read_text() in text


@pytest.mark.parametrize(
    "path",
    [
        "/docs/none.md", "/docs/../pyproject.toml", "/docs/%2e%2e/pyproject.toml",
        "/docs//etc/passwd", "/docs/decisions/0001-runtime-is-the-ground-of-expressions.md",
        "/skills/none/SKILL.md", "/skills/..%2f/SKILL.md", "/docs/tutorial",
    ],
)  # fmt: skip
def test_nothing_else_is_read(browser: Browser, path: str) -> None:
    answer = browser.call("GET", path, headers={"accept": "application/json"})
    assert answer.status_code == 404
