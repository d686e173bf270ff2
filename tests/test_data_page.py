"""docs/data.md is executed: its console prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.database_commands import command_environment
from tests.test_readme import Shell, free_port, run_blocks

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/data.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


def without_blanks(text: str) -> str:
    """Return text without the blanks at the ends of lines, which an editor takes out."""
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    shell = Shell(folder, free_port(), free_port())
    shell.env["PYTHONPATH"] = command_environment(tmp_path)["PYTHONPATH"]
    try:
        run_blocks(shell, CONSOLE, without_blanks)
    finally:
        code = shell.stop()
    assert code == 0
