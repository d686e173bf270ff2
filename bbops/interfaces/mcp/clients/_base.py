"""What is known of a client: the file it reads, how a server stands there, how a person signs in.

Sources: each client's own documentation, as of November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bbops.base.registry import members

HOME = "~/"
"""Begins the files that belong to a person, not to a workspace."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program that speaks MCP.

    Attributes:
        title: its name.
        file: what it reads, from the workspace, or from the home folder with `~/`.
        keys: where servers stand in the file; the name of ours comes behind.
        address: the key of a server's address.
        marks: files and folders that say it is used here.
        sign_in: what its person does once, when it first asks.
        form: how the file is written.
        more: other keys of a server.
        skills: the folder of skills that it reads.
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
        """Whether its file lies in the workspace."""
        return not self.file.startswith(HOME)

    def entry(self, url: str) -> dict[str, str]:
        """Return a server as it stands in the file; never with a token."""
        return {**self.more, self.address: url}

    def path(self, workspace: Path) -> Path:
        """Return where its file is. Raises RuntimeError: there is no home folder."""
        return find(workspace, self.file)

    def is_used(self, workspace: Path) -> bool:
        """Return whether something says that it is used here, or by this person."""
        return any(find(workspace, mark).exists() for mark in self.marks)


def find(workspace: Path, path: str) -> Path:
    """Return a path of the workspace, or of the home folder where it begins with `~/`."""
    if path.startswith(HOME):
        return Path.home() / path.removeprefix(HOME)
    return workspace / path


def find_clients() -> Mapping[str, Client]:
    """Return every client by its name, such as `claude-code`."""
    return {
        module.__name__.rpartition(".")[2].replace("_", "-"): module.CLIENT
        for _, module in members("bbops.interfaces.mcp.clients")
    }
