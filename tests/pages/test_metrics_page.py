"""docs/metrics.md is executed, and lists each metric with its kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops_server.control_plane.projects.metrics import METRICS
from tests.conftest import ROOT
from tests.support.shell import console, try_console

PAGE = (ROOT / "docs/metrics.md").read_text()


@pytest.mark.long
def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(console(PAGE), tmp_path)


def test_the_page_lists_each_metric_with_its_kind() -> None:
    listed = re.findall(r"^\| `bbops_(\w+)` \| (\w+) \|", PAGE, re.MULTILINE)
    assert listed == [(name, kind) for name, (kind, _) in METRICS.items()]
