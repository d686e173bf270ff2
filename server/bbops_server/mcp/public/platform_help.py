"""platform_help: what this service is, and how an agent starts."""

from __future__ import annotations

import asyncio

import msgspec

import bbops
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.mcp.public._takes import Nothing
from bbops_server.mcp.public_context import MCP_PATH, PublicContext

ABOUT = (
    "bbops serves backends that live in git: tables, functions, endpoints and channels are YAML"
    " files, and a commit on the live branch changes what is served, completely or not at all."
    " Agents change drafts and open pull requests; only a merge changes what is live."
)


class Rule(msgspec.Struct, frozen=True):
    """A rule, and its reason."""

    rule: str
    why: str


RULES = [
    Rule(
        "use the exact mcpUrl that project_select returns", "never build a URL from a name"
    ),
    Rule(
        "read, preview, validate, apply, and publish only when you are asked to",
        "a preview shows what a change would do to callers and to data",
    ),
    Rule(
        "never put a token or a secret into a file or a prompt",
        "clients sign in by OAuth; a project's secrets are in the server's secret store",
    ),
]  # fmt: skip


class Help(ToolResult, frozen=True):
    """The purpose of the service, and its addresses.

    Attributes:
        not_supported: parts of the language that are checked, and that this version does not run.
    """

    version: str
    about: str
    not_supported: list[str]
    mcp_url: str
    dashboard_url: str
    docs_url: str
    skills_url: str
    sign_up_url: str
    rules: list[Rule]


def _find_unsupported() -> list[str]:
    from bbops.compiler.check._supported import find_unsupported_parts  # noqa: PLC0415 - the language

    found = find_unsupported_parts()
    return [*found.kinds, *found.steps, *found.addon_steps]


async def explain(at: PublicContext, _: Nothing) -> Help:
    """Return the help."""
    return Help(
        version=bbops.__version__, about=ABOUT,
        not_supported=await asyncio.to_thread(_find_unsupported), mcp_url=at.link(MCP_PATH),
        dashboard_url=at.link("/"), docs_url=at.link("/llms.txt"),
        skills_url=at.link("/skills/skills.json"), sign_up_url=at.link("/signup"), rules=RULES,
        next=[NextCall("platform_get_onboarding", why="see the first steps")],
    )  # fmt: skip


TOOL = McpTool(
    "platform_help",
    "What this is",
    "What bbops is, its rules for agents, and where its documentation and skills are.",
    Nothing,
    Help,
    explain,
    scope="",
)
