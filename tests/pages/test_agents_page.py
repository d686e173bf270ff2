"""docs/agents.md is executed; its tables are those of the tools and documents that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops_server.mcp.discovery import DOCUMENTS
from bbops_server.mcp.servers import PUBLIC, tools_of
from tests.conftest import ROOT
from tests.support.shell import console, try_console

PAGE = (ROOT / "docs/agents.md").read_text()
CONSOLE = console(PAGE)
ROW = re.compile(r"^\| (`[a-z_`, ]+`) \| (`?\w+`?) \|", re.MULTILINE)


def test_its_table_has_every_tool_with_its_scope() -> None:
    told = {
        name: scope.strip("`")
        for names, scope in ROW.findall(PAGE)
        for name in re.findall(r"`(\w+)`", names)
    }
    assert told == {name: one.scope or "nothing" for name, one in tools_of(PUBLIC).items()}


def test_it_names_every_document() -> None:
    assert [path for path in DOCUMENTS if f"`{path}" not in PAGE] == []


@pytest.mark.long
def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(CONSOLE, tmp_path)
