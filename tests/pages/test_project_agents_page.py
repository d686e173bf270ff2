"""docs/project-agents.md is executed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import ROOT, TEMPLATE
from tests.support.shell import console, try_console

PAGE = (ROOT / "docs/project-agents.md").read_text()
AROUND = {
    "addons/aiModel.yaml": 'enabled: true\nconfig: { apiKey: "${ env.JWT_SECRET }" }\n',
    "realtime/news.yaml": "topic: news\nauthentication: None\nevents:\n"
    "  item.added: { urgent: boolean }\n",
    "functions/notes/list-all.yaml": "description: All notes.\nsteps:\n"
    "  - find: { table: notes, select: [id, title] }\n    as: notes\n"
    '  - return: { value: "${ vars.notes }" }\n',
}
"""Resources that the examples name."""


def test_every_agent_of_the_page_is_valid() -> None:
    tree = FolderTree(TEMPLATE)
    files = {entry.path: (TEMPLATE / entry.path).read_text() for entry in tree.entries()}
    files["project.yaml"] = files["project.yaml"].replace(
        "env:\n", "env:\n  MAIL_SECRET: { secret: true }\n", 1
    )
    shown = {
        block.partition("\n")[0].removeprefix("# "): block
        for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    }
    assert set(shown) == {"agents/triage.yaml", "agents/clerk.yaml"}
    found = validate(MemoryTree(files | AROUND | shown))[1]
    assert [str(item) for item in found if item.severity == "error"] == []


@pytest.mark.long
def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(console(PAGE), tmp_path)
