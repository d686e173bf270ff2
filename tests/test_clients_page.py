"""docs/clients.md is executed: its console prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_readme import Shell, free_port, run_blocks

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/clients.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "clients"
    folder.mkdir()
    assert CONSOLE
    shell = Shell(folder, free_port(), free_port())
    try:
        run_blocks(shell, CONSOLE, str)
    finally:
        code = shell.stop()
    assert code == 0
