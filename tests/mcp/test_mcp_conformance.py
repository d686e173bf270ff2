"""What others wrote to try servers and clients of MCP, held against ours."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from bbops_server.accounts.rules import GrantScope, Role
from tests.conformance import fixture, npm
from tests.conformance.serving import listening, transport
from tests.conftest import ROOT
from tests.support.agents import give
from tests.support.control import Tried
from tests.support.ports import free_port

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]
HERE = ROOT / "tests/conformance"


class Real(NamedTuple):
    """A control plane that listens, with a token of its owner's."""

    url: str
    token: str
    tried: Tried


@pytest.fixture(scope="module")
def folder() -> Path:
    return npm.folder()


@pytest.fixture(scope="module")
def fixture_url(folder: Path) -> Iterator[str]:
    """Our transport with the tools that the suite asks for."""
    with listening(transport(fixture.create())) as url:
        yield f"{url}/mcp"


@pytest.fixture(scope="module")
def real(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    port = free_port()
    tried = Tried(tmp_path_factory.mktemp("real"), control_port=port)
    tried.add("ada@example.com", Role.OWNER)
    with listening(tried.own_app(), port) as url:
        token = give(tried, "ada@example.com", GrantScope.PROJECT, resource=f"{url}/mcp")
        yield Real(f"{url}/mcp", token, tried)
    tried.close()


def judge(url: str, tmp_path: Path, *options: str) -> None:
    """Run the suite of the protocol; what it says is in the message where something fails."""
    done = npm.run(npm.CONFORMANCE, "server", "--url", url, *options, "-o", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


# ---- the protocol
def test_the_newest_protocol_is_spoken_whole(fixture_url: str, tmp_path: Path) -> None:
    judge(fixture_url, tmp_path, "--requirements", "2026-07-28")


def test_the_one_before_is_spoken_but_for_questions(fixture_url: str, tmp_path: Path) -> None:
    baseline = str(HERE / "baseline.2025-11-25.yml")
    judge(fixture_url, tmp_path, "--requirements", "2025-11-25", "--expected-failures", baseline)


def test_headers_are_held_against_the_message(fixture_url: str, tmp_path: Path) -> None:
    judge(fixture_url, tmp_path, "--scenario", "http-header-validation")


@pytest.mark.parametrize(
    "scenario",
    [
        "server-initialize", "ping", "tools-list", "dns-rebinding-protection",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
        "sep-2640-skills-enumeration", "sep-2640-skills-directory", "sep-2640-skills-manifest",
    ],
)  # fmt: skip
def test_the_real_server_passes(real: Real, tmp_path: Path, scenario: str) -> None:
    judge(real.url, tmp_path, "--scenario", scenario)


# ---- the inspector
def inspect(url: str, *options: str) -> Any:
    package = json.loads((npm.folder() / f"node_modules/{npm.INSPECTOR}/package.json").read_text())
    script = f"{npm.INSPECTOR}/{package['bin']['mcp-inspector']}"
    return npm.run(script, "--cli", url, "--transport", "http", *options)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_nothing_in_the_schemas(real: Real, era: str) -> None:
    done = inspect(real.url, "--protocol-era", era, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_inspector_finds_nothing_in_those_of_a_project(real: Real) -> None:
    url = f"{real.url}/p/{real.tried.book.addresses.of('small')}"
    header = ("--header", f"Authorization: Bearer {real.token}")
    done = inspect(url, *header, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr
    assert inspect(url, "--method", "tools/list").returncode == 3  # it has to sign in


def test_the_inspector_finds_every_skill_with_its_digest(real: Real) -> None:
    done = inspect(
        real.url, "--protocol-era", "modern", "--method", "skills/list", "--verify"
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


# ---- clients
def test_both_clients_of_typescript_work(real: Real) -> None:
    script = shutil.copy(HERE / "clients.mjs", npm.folder())
    done = npm.run(Path(script), real.url, real.token)
    assert done.returncode == 0, done.stderr
    for found in json.loads(done.stdout).values():
        assert {"docs_search", "project_list"} <= set(found["tools"])
        assert found["hits"] == 5
        assert "sign in first" in found["refused"]
        assert found["projects"][0]["projectId"] == "small"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_of_python_works(real: Real, mode: Any) -> None:
    asyncio.run(use(real, mode))


async def use(real: Real, mode: Any) -> None:
    headers = {"authorization": f"Bearer {real.token}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        way = streamable_http_client(real.url, http_client=http)
        async with Client(way, mode=mode) as client:
            found = await client.call_tool("project_select", {"projectId": "small"})
            assert found.structured_content["mcpUrl"].startswith(f"{real.url}/p/")
            tools = (await client.list_tools()).tools
            assert "docs_search" in [one.name for one in tools]
