"""docs/contract.md is executed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_readme import Shell, free_port, run_blocks

pytestmark = pytest.mark.long

CONSOLE = re.findall(r"```console\n(.*?)```", (ROOT / "docs/contract.md").read_text(), re.DOTALL)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "contract"
    folder.mkdir()
    assert CONSOLE
    run_blocks(Shell(folder, free_port(), free_port()), CONSOLE, str)
