"""docs/frontend.md is executed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_readme import Shell, free_port, run_blocks

CONSOLE = re.findall(r"```console\n(.*?)```", (ROOT / "docs/frontend.md").read_text(), re.DOTALL)


@pytest.mark.long
def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "frontend"
    folder.mkdir()
    assert CONSOLE
    shell = Shell(folder, free_port(), free_port())
    shell.env["BBOPS_SERVER"] = f"http://127.0.0.1:{shell.control}"
    try:
        run_blocks(shell, CONSOLE, str)
    finally:
        shell.stop()
