"""What `bbops db` says of itself, word by word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.database_commands import Commands

GOLDEN = ROOT / "tests/golden/cli/db.txt"
NAMES = ("approve", "backup", "drift", "narrow", "plan", "pull", "restore", "seed", "shell")


@pytest.mark.long
def test_help_teaches(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    commands = Commands(tmp_path, tmp_path / "commands")
    pages = [commands.run("--help"), *(commands.run(name, "--help") for name in NAMES)]
    assert {page.returncode for page in pages} == {0}
    found = "\n".join(page.stdout for page in pages)
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()
