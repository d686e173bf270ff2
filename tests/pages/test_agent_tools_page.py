"""docs/agent-tools.md is executed, and its list of tools is that of the source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.agent_tools import PAGE, agent_tools_page
from tests.support.served import environment, make_project


@pytest.mark.long
def test_the_example_prints_what_it_shows(tmp_path: Path) -> None:
    text = PAGE.read_text()
    (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    folder = make_project(tmp_path / "shop")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    here = environment(tmp_path) | {"PATH": path}
    script = script.replace('"--stdio"])', f'"--stdio"], env={here!r})')  # as of a shell
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=60,
        check=False, env=here,
    )  # fmt: skip
    assert done.stdout == shown, done.stdout + done.stderr


def test_the_tools_are_those_of_the_source() -> None:
    """If not: run `python -m tests.docs` in the root of the repository."""
    assert PAGE.read_text() == agent_tools_page()
