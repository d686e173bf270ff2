"""docs/tutorial.md is executed: from an empty folder to a release and back, with the real git."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_readme import Shell, free_port, run_blocks

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/tutorial.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "tutorial"
    folder.mkdir()
    shell = Shell(folder, free_port(), free_port())
    shell.env = shell.env | {"HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"}
    shell.env["BBOPS_SERVER"] = f"http://127.0.0.1:{shell.control}"
    control = str(shell.control)
    try:
        run_blocks(
            shell, CONSOLE,
            lambda text: text.replace(control, "8001").replace(str(shell.port), "8000"),
            lambda command: command.replace("8001", control),
        )  # fmt: skip
    except BaseException:
        shell.stop()
        raise
    assert shell.stop() == 0
