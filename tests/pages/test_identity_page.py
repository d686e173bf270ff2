"""docs/identity.md is executed: its console prints what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.shell import console, try_console

pytestmark = pytest.mark.long

CONSOLE = console((ROOT / "docs/identity.md").read_text())


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(CONSOLE, tmp_path)
