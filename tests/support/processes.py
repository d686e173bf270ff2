"""The processes that a process has started, as the system tells of them."""

from __future__ import annotations

import subprocess

from tests.support.lending import NAME


def children(pid: int, pattern: str = "") -> list[int]:
    """Return the children of a process; with a pattern, those whose command line has it."""
    asked = ["pgrep", "-l", "-P", str(pid), *(["-f", pattern] if pattern else [])]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    told = (line.split(maxsplit=1) for line in found.stdout.splitlines())
    return [int(child) for child, name in told if name != NAME]
