"""An MCP client: its settings file, the entry of a server in it, and its sign-in.

Sources: each client's own documentation, as of November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bbops.base.registry import members

HOME = "~/"
"""The prefix of files that belong to a user, not to a workspace."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """An MCP client, the program in which an agent runs.

    Attributes:
        title: its display name.
        file: its settings file, relative to the workspace, or to the home folder with `~/`.
        keys: the keys around the servers in the file; the name of our server follows.
        address: the key of a server's URL.
        marks: files and folders whose existence shows that the client is used here.
        sign_in: the user's steps to sign in, once.
        form: the file format.
        more: further keys of a server.
        skills: the folder from which it reads skills.
    """

    title: str
    file: str
    keys: tuple[str, ...]
    address: str
    marks: tuple[str, ...]
    sign_in: str
    form: Literal["json", "toml"] = "json"
    more: Mapping[str, str] = field(default_factory=dict)
    skills: str = ".agents/skills"

    @property
    def is_of_workspace(self) -> bool:
        """Whether its file is in the workspace."""
        return not self.file.startswith(HOME)

    def entry(self, url: str) -> dict[str, str]:
        """Return the entry of a server in the file; never with a token."""
        return {**self.more, self.address: url}

    def path(self, workspace: Path) -> Path:
        """Return the path of its file. Raises RuntimeError: there is no home folder."""
        return find(workspace, self.file)

    def is_used(self, workspace: Path) -> bool:
        """Return whether a file or folder shows that the client is used here, or by this user."""
        return any(find(workspace, mark).exists() for mark in self.marks)


def find(workspace: Path, path: str) -> Path:
    """Return a path in the workspace, or in the home folder if it begins with `~/`."""
    if path.startswith(HOME):
        return Path.home() / path.removeprefix(HOME)
    return workspace / path


def find_clients() -> Mapping[str, McpClient]:
    """Return every client by its name, such as `claude-code`."""
    return {
        module.__name__.rpartition(".")[2].replace("_", "-"): module.CLIENT
        for _, module in members("bbops.interfaces.mcp.clients")
    }
