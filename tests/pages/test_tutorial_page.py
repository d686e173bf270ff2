"""docs/tutorial.md is executed: from an empty folder to a release and back, with the real git."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.shell import console, try_console

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/tutorial.md").read_text()
CONSOLE = console(PAGE)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(CONSOLE, tmp_path)
