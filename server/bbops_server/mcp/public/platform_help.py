"""platform_help: what this service is, and how an agent starts."""

from __future__ import annotations

import msgspec

import bbops
from bbops.mcp.tool import Call, Gives, Tool
from bbops_server.mcp.lobby import MCP_PATH, Lobby
from bbops_server.mcp.public._takes import Nothing

ABOUT = (
    "bbops serves backends that live in git: tables, functions, endpoints, tasks and triggers are"
    " YAML files, and a commit on the live branch changes what is served, whole or not at all."
    " Agents change drafts and open pull requests; what is live is changed by a merge alone."
)


class Rule(msgspec.Struct, frozen=True):
    """One rule, and why."""

    rule: str
    why: str


RULES = [
    Rule(
        "use the exact mcpUrl that project_select returns", "no address is made from a name"
    ),
    Rule(
        "read, preview, validate, apply, and publish only when you are asked to",
        "a preview shows what a change would do to callers and to data",
    ),
    Rule(
        "never put a token or a secret into a file or a prompt",
        "clients sign in by OAuth; secrets of a project stand in the server's store",
    ),
]  # fmt: skip


class Help(Gives, frozen=True):
    """What it is, and where things are."""

    version: str
    about: str
    mcp_url: str
    dashboard_url: str
    docs_url: str
    skills_url: str
    sign_up_url: str
    rules: list[Rule]


async def explain(at: Lobby, _: Nothing) -> Help:
    """Say it."""
    return Help(
        version=bbops.__version__, about=ABOUT, mcp_url=at.link(MCP_PATH),
        dashboard_url=at.link("/"), docs_url=at.link("/llms.txt"),
        skills_url=at.link("/skills/skills.json"), sign_up_url=at.link("/signup"), rules=RULES,
        next=[Call("platform_get_onboarding", why="what to do first, step by step")],
    )  # fmt: skip


TOOL = Tool(
    "platform_help",
    "What this is",
    "What bbops is, its rules for agents, and where its documentation and skills are.",
    Nothing,
    Help,
    explain,
    scope="",
)
