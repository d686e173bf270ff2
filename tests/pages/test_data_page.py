"""docs/data.md is executed: its console prints what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.database_commands import command_environment
from tests.support.shell import console, try_console

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/data.md").read_text()
CONSOLE = console(PAGE)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    env = {"PYTHONPATH": command_environment(tmp_path)["PYTHONPATH"]}
    try_console(CONSOLE, tmp_path, env=env)
