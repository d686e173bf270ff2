"""Make the list of tools in docs/agent-tools.md from the tools themselves."""

from __future__ import annotations

from bbops.interfaces.mcp.tool import McpTool, find_tools
from tests.conftest import ROOT

PAGE = ROOT / "docs/agent-tools.md"
_HEADING = "## Tools\n"


def agent_tools_page() -> str:
    """Return docs/agent-tools.md with the tools there are now."""
    head = PAGE.read_text().partition(_HEADING)[0]
    rows = map(_row, find_tools("bbops.interfaces.mcp.project").values())
    return "\n".join([
        head + _HEADING, "| tool | scope | changes | what it does |", "| --- | --- | --- | --- |",
        *rows, "",
    ])  # fmt: skip


def _row(tool: McpTool[object]) -> str:
    changes = (
        "nothing" if tool.hints.reads_only else "may destroy" if tool.hints.destroys else "adds"
    )
    return f"| `{tool.name}` | `{tool.scope}` | {changes} | {tool.description} |"
