"""docs/push.md, proposals.md, drafts.md and versions.md are executed, with the real git client."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import ROOT
from tests.support.shell import console, try_console

pytestmark = pytest.mark.long

LONG = [pytest.param(page, marks=pytest.mark.long) for page in ("drafts", "versions")]


@pytest.mark.parametrize("page", ["push", "proposals", *LONG])
def test_every_console_block_prints_what_it_shows(tmp_path: Path, page: str) -> None:
    try_console(console((ROOT / f"docs/{page}.md").read_text()), tmp_path)


def test_the_rules_of_reviews_are_a_projects() -> None:
    text = (ROOT / "docs/proposals.md").read_text()
    block, *_ = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    project, found = validate(MemoryTree({"project.yaml": f"bbops: 1\nname: shop\n{block}"}))
    assert project is not None
    assert [one for one in found if one.code == "unknown-key"] == []
