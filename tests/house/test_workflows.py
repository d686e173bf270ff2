"""What runs on GitHub for this repository, and the versions that it is tested with."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github").rglob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_action_is_pinned_to_a_commit(file: Path) -> None:
    used = re.findall(r"uses:\s*(\S+)", file.read_text())
    assert used
    loose = [one for one in used if not re.search(r"@[0-9a-f]{40}$", one)]
    assert loose == []


def test_zizmor_finds_nothing_in_the_workflows() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    found = subprocess.run(
        [zizmor, "--offline", "--no-progress", "--color=never", "--persona=pedantic",
         ROOT / ".github"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stdout.strip()) == (0, "No findings to report. Good job!")


def test_a_package_is_constrained_to_one_version() -> None:
    names = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    twice = [name for name, times in Counter(map(str.lower, names)).items() if times > 1]
    assert twice == []
