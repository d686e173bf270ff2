"""An agent at a checkout: calls tools by name, on a real repository of the small project."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.local import Checkout
from bbops.interfaces.mcp.tool import ToolError, call, find_tool, find_tools
from bbops.source.git.store import Store
from tests.support.served import git
from tests.support.small_project import write_project

TOOLS = find_tools("bbops.interfaces.mcp.project")

HELLO = {"steps": [{"return": {"value": {"text": "${ env.GREETING }", "version": 2}}}]}
SHOUT = {
    "method": "GET", "path": "/shout", "function": "shout", "authentication": "None",
    "description": "Shouts.",
}  # fmt: skip


def checked(tool: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result that is as its tool's schema says."""
    jsonschema.validate(result, TOOLS[tool].output_schema)
    return result


class Agent:
    """Somebody at a repository."""

    def __init__(self, folder: Path, *, under: str = "", **bench: Any) -> None:
        self.folder = folder
        self.place = Checkout(ProjectRepository(Store.open(folder), "main", under, **bench))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        return checked(tool, asyncio.run(call(find_tool(TOOLS, tool), self.place, arguments)))

    def refused(self, tool: str, **arguments: Any) -> ToolError:
        """Call a tool that refuses, and return how."""
        with pytest.raises(ToolError) as caught:
            self.call(tool, **arguments)
        return caught.value

    def put(self, ref: str, body: dict[str, Any], draft: str = "topic", **more: Any) -> str:
        """Put a resource into a draft by preview and apply; return the commit."""
        return self.change(draft, {"op": "put", "ref": ref, "body": body, **more})

    def change(self, draft: str, *changes: dict[str, Any]) -> str:
        """Bring changes into a draft; return the commit."""
        base = draft if self.tip(f"refs/heads/{draft}") else ""
        plan = self.call("preview_changes", draft=base, changes=list(changes))["plan"]
        return str(self.call("apply_changes", draft=draft, plan=plan, message="Change")["commit"])

    def tip(self, ref: str = "refs/heads/main") -> str:
        """Return what a ref holds; empty for nothing."""
        return git(self.folder, "for-each-ref", "--format=%(objectname)", ref)

    def refs(self) -> str:
        """Return every ref with what it holds."""
        return git(self.folder, "for-each-ref", "--format=%(refname) %(objectname)")

    def show(self, commit: str, path: str) -> str:
        """Return a file of a commit."""
        return git(self.folder, "show", f"{commit}:{path}")


def make_repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Make a work tree with the small project in it."""
    write_project(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    return folder


@pytest.fixture(scope="session")
def small_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository to copy."""
    return make_repository(tmp_path_factory.mktemp("small") / "shop")


@pytest.fixture
def agent(tmp_path: Path, small_repository: Path) -> Iterator[Agent]:
    """Return somebody at a fresh repository."""
    one = Agent(Path(shutil.copytree(small_repository, tmp_path / "shop")))
    yield one
    one.place.close()
