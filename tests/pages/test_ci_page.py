"""docs/ci.md is executed, and it lists the outputs, severities and variables of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.interfaces.ci.comments import TOKENS
from bbops.interfaces.ci.plan import SEVERITIES
from bbops.interfaces.cli import ci
from tests.conftest import ROOT
from tests.support.shell import console, try_console

PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_every_console_block_prints_its_output(tmp_path: Path) -> None:
    try_console(console(PAGE), tmp_path)


def test_severities_are_listed() -> None:
    assert tuple(SEVERITIES) == ci.SEVERITIES
    assert [name for name in SEVERITIES if f"`{name}`" not in PAGE] == []


def test_variables_of_tokens_are_listed() -> None:
    names = {name for names in TOKENS.values() for name in names}
    assert {name for name in names if f"`{name}`" not in PAGE} == set()
