"""A copy of this repository in which something new is planted, and the surfaces that show it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.served import git

PROJECT = "bbops: 1\nname: shop\n"

_PARTS = (
    "bbops",
    "server",
    "docs",
    "schemas",
    "tests/docs",
    "pyproject.toml",
    "ARCHITECTURE.md",
    "README.md",
    "project-template",
)
_TESTS = (
    "tests/__init__.py",
    "tests/conftest.py",
    "tests/support",
    "tests/samples",
    "tests/vendors",
)


class House:
    """The copy: `plant` adds a file to it, what is run in it knows nothing of the original."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.planted: list[str] = []
        for part in (*_PARTS, *_TESTS):
            _copy(ROOT / part, folder / part)

    def plant(self, path: str, text: str) -> None:
        """Write a file that is not there yet."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (self.folder / path).open("x", encoding="utf-8") as file:
            file.write(text)
        self.planted.append(path)

    def run(
        self, *words: str, cwd: Path | None = None, given: str = "", env: Mapping[str, str] = {}
    ) -> str:  # fmt: skip
        """Return what `python -m …` prints, its messages last."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", *words], cwd=cwd or self.folder, input=given,
            env={**self._environment(), **env},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        return done.stdout + done.stderr

    def bbops(self, *words: str, cwd: Path, env: Mapping[str, str] = {}) -> str:
        """Return what a command prints."""
        return self.run("bbops", *words, cwd=cwd, env=env)

    def ask(self, source: str, *given: str, cwd: Path) -> Any:
        """Return what a function `ask` of a source returns, which is JSON."""
        script = self.folder / "asked.py"
        end = "\nimport json, sys\nprint(json.dumps(ask(*sys.argv[1:])))\n"
        script.write_text(source + end, encoding="utf-8")
        printed = self.run("asked", *given, cwd=cwd)
        assert printed.startswith(("[", '"')), printed
        return json.loads(printed)

    def agent(self, folder: Path, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Return what an MCP server of a checkout answers to each request."""
        hello = ("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "drill", "version": "1"},
        })  # fmt: skip
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "bbops", "mcp", "serve", "--stdio"], cwd=folder,
            env=self._environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as server:  # fmt: skip
            assert server.stdin is not None
            assert server.stdout is not None
            answers = []
            for at, (method, params) in enumerate((hello, *calls)):
                asked = {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
                server.stdin.write(json.dumps(asked) + "\n")
                server.stdin.flush()
                answers.append(json.loads(server.stdout.readline())["result"])
            server.stdin.close()
            server.wait(timeout=30)
        return answers[1:]

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join(map(str, (self.folder, self.folder / "server")))
        return {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}

    def write_docs(self) -> None:
        """Make the pages that are made."""
        printed = self.run("tests.docs")
        assert "pages in" in printed, printed

    def page(self, path: str) -> str:
        """Return a page, empty if there is none."""
        file = self.folder / path
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def schema(self, name: str) -> str:
        """Return a schema as `bbops schema` writes it."""
        out = self.folder / "written"
        out.mkdir(exist_ok=True)
        self.bbops("schema", str(out), cwd=self.folder)
        return (out / "schemas" / name).read_text(encoding="utf-8")


COMPLETE = """
from pathlib import Path
from bbops.interfaces.lsp.completion import complete
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.hover import explain
from bbops.interfaces.lsp.text import SourceLines

def ask(path, before, after, kind):
    folder = EditorProject.at(Path.cwd())
    folder.refresh()
    lines = SourceLines(before + after)
    if kind == "hover":
        shown = explain(folder, path, lines, len(before))
        return shown.contents.value if shown else ""
    return [one.label for one in complete(folder, path, lines, len(before))]
"""
"""What an editor offers, or shows, between two texts of a file."""


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house")


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "Change")


def project(folder: Path, files: dict[str, str]) -> Path:
    for path, text in {"project.yaml": PROJECT, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git(folder, "init", "-qb", "main")
    commit(folder)
    return folder
