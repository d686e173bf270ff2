"""MCP clients: their settings files, the entry of a server in them, and their sign-in.

Sources: each client's own documentation, as of November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

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


CLIENTS: Final[Mapping[str, McpClient]] = {
    # Claude Code: https://code.claude.com/docs/en/mcp.
    "claude-code": McpClient(
        "Claude Code",
        ".mcp.json",
        ("mcpServers",),
        "url",
        (".mcp.json", ".claude", "CLAUDE.md", "~/.claude"),
        "type /mcp in Claude Code, choose this server, then Authenticate",
        more={"type": "http"},
        skills=".claude/skills",
    ),
    # Codex: https://developers.openai.com/codex/mcp; it reads the file of a trusted project.
    "codex": McpClient(
        "Codex",
        ".codex/config.toml",
        ("mcp_servers",),
        "url",
        (".codex", "~/.codex"),
        "run 'codex mcp login' with the name of this server",
        form="toml",
    ),
    # Cursor: https://cursor.com/docs/context/mcp.
    "cursor": McpClient(
        "Cursor",
        ".cursor/mcp.json",
        ("mcpServers",),
        "url",
        (".cursor", "~/.cursor"),
        "open Cursor's settings, Tools & MCP, and press Connect beside this server",
    ),
    # Gemini CLI: https://geminicli.com/docs/tools/mcp-server.
    "gemini-cli": McpClient(
        "Gemini CLI",
        ".gemini/settings.json",
        ("mcpServers",),
        "httpUrl",
        (".gemini", "GEMINI.md", "~/.gemini"),
        "type /mcp auth and the name of this server in Gemini CLI",
    ),
    # OpenCode: https://opencode.ai/docs/mcp-servers.
    "opencode": McpClient(
        "OpenCode",
        "opencode.json",
        ("mcp",),
        "url",
        ("opencode.json", ".opencode", "~/.config/opencode"),
        "run 'opencode mcp auth' with the name of this server",
        more={"type": "remote"},
    ),
    # VS Code: https://code.visualstudio.com/docs/copilot/customization/mcp-servers.
    "vscode": McpClient(
        "VS Code",
        ".vscode/mcp.json",
        ("servers",),
        "url",
        (".vscode", "~/.vscode"),
        "run 'MCP: List Servers' in the command palette, start this server, and allow the sign-in",
        more={"type": "http"},
    ),
    # Windsurf: https://docs.windsurf.com/windsurf/cascade/mcp; its file is in the home folder.
    "windsurf": McpClient(
        "Windsurf",
        "~/.codeium/windsurf/mcp_config.json",
        ("mcpServers",),
        "serverUrl",
        (".windsurf", "~/.codeium/windsurf"),
        "press Refresh in Cascade's list of MCP servers, and allow the sign-in in the browser",
    ),
    # Zed: https://zed.dev/docs/ai/mcp.
    "zed": McpClient(
        "Zed",
        ".zed/settings.json",
        ("context_servers",),
        "url",
        (".zed", "~/.config/zed"),
        "open the Agent panel's settings, and press Authenticate beside this server",
    ),
}
