"""docs/plans.md is executed, and its list of codes is that of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.plan_codes import PAGE, plans_page
from tests.support.shell import console, try_console

pytestmark = pytest.mark.long

CONSOLE = console(PAGE.read_text())


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(CONSOLE, tmp_path)


def test_the_codes_are_those_of_the_source() -> None:
    """If not: run `python -m tests.docs` in the root of the repository."""
    assert PAGE.read_text() == plans_page()
