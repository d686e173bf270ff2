"""docs/push.md, proposals.md, drafts.md and versions.md are executed, with the real git client."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops.check import validate
from bbops.tree import MemoryTree
from tests.conftest import ROOT
from tests.test_readme import Shell, free_port, run_blocks

pytestmark = pytest.mark.long

LONG = [pytest.param(page, marks=pytest.mark.long) for page in ("drafts", "versions")]


@pytest.mark.parametrize("page", ["push", "proposals", *LONG])
def test_every_console_block_prints_what_it_shows(tmp_path: Path, page: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    console = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    folder = tmp_path / page
    folder.mkdir()
    shell = Shell(folder, free_port(), free_port())
    control = str(shell.control)
    shell.env["BBOPS_SERVER"] = f"http://127.0.0.1:{control}"
    shell.env["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    try:
        run_blocks(
            shell, console,
            lambda text: text.replace(control, "8001").replace(str(shell.port), "8000"),
            lambda command: command.replace("8001", control),
        )  # fmt: skip
    except BaseException:
        shell.stop()
        raise
    assert shell.stop() == 0


def test_the_rules_of_reviews_are_a_projects() -> None:
    text = (ROOT / "docs/proposals.md").read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    project, found = validate(MemoryTree({"project.yaml": f"bbops: 1\nname: shop\n{block}"}))
    assert project is not None
    assert [one for one in found if one.code == "unknown-key"] == []
