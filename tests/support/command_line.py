"""`bbops` as a command: a real process, and its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def environment(*more: Path, **changes: str) -> dict[str, str]:
    path = os.pathsep.join(map(str, (*more, ROOT, ROOT / "server")))
    kept = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR"}}
    return {**kept, "PYTHONPATH": path, "COLUMNS": "80", **changes}


def bbops(
    *arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bbops", *arguments]
    return subprocess.run(
        command, env=env or environment(), cwd=cwd, capture_output=True, text=True, check=False
    )


def add_entry_points(folder: Path, points: dict[str, str]) -> None:
    metadata = folder / "added-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1\n")
    lines = "\n".join(f"{name} = {module}" for name, module in points.items())
    (metadata / "entry_points.txt").write_text(f"[bbops.commands]\n{lines}\n")
