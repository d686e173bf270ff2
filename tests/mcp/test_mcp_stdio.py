"""`bbops mcp serve --stdio`: the official client, started beside a checkout."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.conftest import ROOT
from tests.support.checkouts import HELLO, make_repository
from tests.support.served import environment, git

COMMAND = ["-m", "bbops", "mcp", "serve", "--stdio"]


def talk(folder: Path, work: Callable[[ClientSession], Awaitable[Any]], *options: str) -> Any:
    """Let the official client speak with a server that it starts."""
    parameters = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, *options], cwd=folder,
        env=environment(folder) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'server'}"},
    )  # fmt: skip

    async def run() -> Any:
        async with (
            stdio_client(parameters) as (reading, writing),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            return await work(session)

    return asyncio.run(asyncio.wait_for(run(), 30))


@pytest.mark.long
def test_an_agent_changes_a_checkout_without_a_server(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "shop")

    async def work(session: ClientSession) -> list[Any]:
        listed = await session.list_tools()
        change = {"op": "put", "ref": "function/hello", "body": HELLO}
        seen = await session.call_tool("preview_changes", {"changes": [change]})
        plan = seen.structured_content["plan"]
        given = {"draft": "topic", "plan": plan, "message": "Say two"}
        done = await session.call_tool("apply_changes", given)
        checked = await session.call_tool("validate_draft", {"draft": "topic", "level": "test"})
        refused = await session.call_tool("apply_pull_request", {"draft": "topic", "title": "x"})
        return [listed, done, checked, refused]

    listed, done, checked, refused = talk(folder, work)
    assert len(listed.tools) == 25
    assert done.structured_content["commit"] == git(folder, "rev-parse", "topic")
    assert checked.structured_content["ok"]
    assert refused.is_error
    assert "git push origin topic:refs/for/main/topic" in refused.content[0].text
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-parse", "--abbrev-ref", "HEAD") == "main"


@pytest.mark.long
def test_it_imports_nothing_of_a_server(tmp_path: Path) -> None:
    code = (
        "import sys, bbops.interfaces.mcp.sdk_server, bbops.interfaces.mcp.local\n"
        "import bbops.interfaces.mcp.drafting.operations\n"
        "found = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*sorted(found & {'bbops_server', 'litestar', 'sqlalchemy'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        env=environment(tmp_path) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'server'}"},
    )  # fmt: skip
    assert done.stdout.strip() == ""


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "said"),
    [((), "is in no git repository"), (("--live", "gone"), "there is no branch 'gone'")],
)
def test_what_it_cannot_serve_is_said_before(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    folder = make_repository(tmp_path / "shop") if options else tmp_path
    done = subprocess.run(
        [sys.executable, *COMMAND, *options], cwd=folder, capture_output=True, text=True,
        check=False, env=environment(tmp_path) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'server'}"},
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
