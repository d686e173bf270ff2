"""docs/serving.md is executed: its console prints what it shows, its yaml is a server's file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops_server.settings.server_file.load import load
from tests.conftest import ROOT
from tests.support.shell import console, squeezed, try_console

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/serving.md").read_text()
CONSOLE = console(PAGE)
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(CONSOLE, tmp_path, tidy=squeezed)


def test_every_yaml_block_is_a_servers_file() -> None:
    assert YAML
    for text in YAML:
        assert load("server.yaml", text.encode(), {}).diagnostics == ()
