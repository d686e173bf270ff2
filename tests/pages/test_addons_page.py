"""docs/addons.md is executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.shell import console, try_console

pytestmark = pytest.mark.long


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(console((ROOT / "docs/addons.md").read_text()), tmp_path)
