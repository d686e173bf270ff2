"""docs/sessions.md is executed: its console prints what it shows, and its YAML has no mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import ROOT, TEMPLATE
from tests.support.shell import console, try_console

PAGE = (ROOT / "docs/sessions.md").read_text()
CONSOLE = console(PAGE)
YAML = re.findall(r"```yaml\n(# \S+\n.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", YAML)
def test_its_yaml_fits_the_template(block: str) -> None:
    files = {
        file.relative_to(TEMPLATE).as_posix(): file.read_text()
        for file in TEMPLATE.rglob("*.yaml")
    }  # fmt: skip
    parts = re.split(r"^# (\S+\.yaml)\n", block, flags=re.MULTILINE)[1:]
    shown = dict(zip(parts[::2], parts[1::2], strict=True))
    if "auth:" not in shown.get("project.yaml", "auth:"):
        shown["project.yaml"] += files["project.yaml"].partition("\nenv:")[2].join(["env:", ""])
    _, found = validate(MemoryTree(files | shown))
    assert [one for one in found if one.severity == "error"] == []


@pytest.mark.long
def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(CONSOLE, tmp_path)
