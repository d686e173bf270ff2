"""template_list: what to start from, for those who want to."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from bbops.base.assets import read_template
from bbops.interfaces.mcp.handbook import read_pages
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.mcp.public._takes import Nothing
from bbops_server.mcp.public_context import PublicContext

_DESCRIPTION = re.compile(r"^description: (.+)$", re.MULTILINE)
_PATTERNS = ("sessions", "requests", "frontend", "clients", "drafts", "versions")


class Template(msgspec.Struct, frozen=True):
    """Files that a project begins with, and the command that makes them."""

    id: str
    purpose: str
    command: str
    resources: list[str]


class Pattern(msgspec.Struct, frozen=True):
    """A page that goes through one thing that many projects need, with files to copy."""

    title: str
    purpose: str
    url: str


class Templates(ToolResult, frozen=True):
    """Both; neither has to be used."""

    templates: list[Template]
    patterns: list[Pattern]


async def show(at: PublicContext, _: Nothing) -> Templates:
    """Show them."""
    pages = read_pages()
    found = [(f"{name}.md", pages[f"{name}.md"]) for name in _PATTERNS]
    patterns = [Pattern(page.title, page.summary, at.link(f"/docs/{p}")) for p, page in found]
    create = NextCall("project_create", {"name": "my-backend"}, "shows what would be made")
    return Templates(templates=[_template()], patterns=patterns, next=[create])


@cache
def _template() -> Template:
    files = read_template()
    text = files["project.yaml"].decode()
    found = _DESCRIPTION.search(text)
    resources = [path for path in files if "/" in path and path.endswith(".yaml")]
    return Template(
        "accounts-and-notes", found[1] if found else "", "bbops init DIR", resources
    )  # fmt: skip


TOOL = McpTool(
    "template_list",
    "Templates",
    "Starter files and worked patterns (sign-in, frontends, clients, drafts). Optional.",
    Nothing,
    Templates,
    show,
    scope="",
)
