"""docs/serving.md is executed: its console prints what it shows, its yaml is a server's file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops_server.server_file.load import load
from tests.conftest import ROOT
from tests.test_readme import Shell, free_port, run_blocks

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/serving.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def squeezed(text: str) -> str:
    """Return text without the blanks that line up a table."""
    return re.sub(r" +", " ", re.sub(r" +$", "", text, flags=re.MULTILINE))


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "several"
    folder.mkdir()
    shell = Shell(folder, free_port(), free_port())
    shell.env["BBOPS_SERVER"] = f"http://127.0.0.1:{shell.control}"
    try:
        run_blocks(shell, CONSOLE, squeezed)
    except BaseException:
        shell.stop()
        raise
    assert shell.stop() == 0


def test_every_yaml_block_is_a_servers_file() -> None:
    assert YAML
    for text in YAML:
        assert load("server.yaml", text.encode(), {}).diagnostics == ()
