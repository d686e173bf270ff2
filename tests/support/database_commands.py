"""Run `bbops db` as a shell does, beside a real server."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from bbops_server.commands import db
from tests.support.command_line import add_entry_points


def command_environment(home: Path) -> dict[str, str]:
    """Return an environment in which `bbops db` is there, whatever is installed."""
    points = home / "points"
    if not points.exists():
        add_entry_points(points, {"db": db.__name__})
    path = os.pathsep.join([str(points), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "HOME": str(home), "NO_COLOR": "1", "PYTHONPATH": path, "COLUMNS": "80"}


class Commands:
    """Runs `bbops db` in a project's folder."""

    def __init__(self, folder: Path, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.folder, self.env = folder, command_environment(home)

    def start(self, *arguments: object, **how: Any) -> subprocess.Popen[str]:
        """Start a command."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "bbops", "db", *map(str, arguments)],
            cwd=self.folder, env=self.env, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **how,
        )  # fmt: skip

    def run(
        self, *arguments: object, given: str | None = None, **how: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        with self.start(*arguments, stdin=subprocess.PIPE, **how) as process:
            out, error = process.communicate(given, timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, error)

    def json(self, *arguments: object) -> Mapping[str, Any]:
        """Run a command that must work and return what it prints as JSON."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        found: Mapping[str, Any] = json.loads(done.stdout)
        return found


def titles(path: Path) -> set[str]:
    """Return the titles of the notes in a file that is whole and needs no other."""
    assert not path.with_name(f"{path.name}-wal").exists()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {title for (title,) in connection.execute("SELECT title FROM notes")}
