"""What docs/guarantees.md shows of a key that no retry changes passes its own test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.interfaces.cli._root_group import RootGroup
from tests.conftest import ROOT

PAGE = (ROOT / "docs/guarantees.md").read_text()
_FILE = re.compile(r"^# (\S+\.yaml)\n", re.MULTILINE)


@pytest.mark.long
def test_its_example_writes_one_row_wherever_the_process_ends(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    _, *parts = _FILE.split(block)
    files = dict(zip(parts[::2], parts[1::2], strict=True)) | {
        "project.yaml": "bbops: 1\nname: a\n"
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    done = CliRunner().invoke(RootGroup("bbops"), ["test", "--path", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "1 passed in" in done.output
