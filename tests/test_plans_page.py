"""docs/plans.md is executed, and its list of codes is that of the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.plan_codes import PAGE, plans_page
from tests.test_readme import Shell, free_port, run_blocks

pytestmark = pytest.mark.long

CONSOLE = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "plans"
    folder.mkdir()
    assert CONSOLE
    run_blocks(Shell(folder, free_port(), free_port()), CONSOLE, str)


def test_the_codes_are_those_of_the_source() -> None:
    """If not: run `python -m tests.docs` in the root of the repository."""
    assert PAGE.read_text() == plans_page()
