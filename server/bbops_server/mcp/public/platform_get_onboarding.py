"""platform_get_onboarding: the first call of a connected agent."""

from __future__ import annotations

import msgspec

from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.mcp.public._takes import Nothing
from bbops_server.mcp.public_context import PublicContext


class Step(msgspec.Struct, frozen=True):
    """A step. `tool` is empty for a step without a call."""

    do: str
    tool: str = ""


class Onboarding(ToolResult, frozen=True):
    """The state of the sign-in, and the next steps in order."""

    signed_in: bool
    signed_in_as: str
    client: str
    scopes: list[str]
    steps: list[Step]


_SIGN_IN = Step(
    "call a tool that needs an account: on the 401 response, your client signs in with a"
    " browser or a code",
    "project_list",
)
_WORK = [
    Step("see which projects you have access to", "project_list"),
    Step("choose one with the person you work for; it returns the exact mcpUrl", "project_select"),
    Step(
        "add that address to this workspace; you carry out every step of the plan",
        "project_connect",
    ),
    Step("connect to mcpUrl and call context_get"),
]


async def begin(at: PublicContext, _: Nothing) -> Onboarding:
    """Return the next steps of the caller."""
    granted = at.granted
    if granted is None:
        first = NextCall("project_list", why="lets your client sign in, then lists the projects")
        return Onboarding(
            signed_in=False, signed_in_as="", client="", scopes=[], steps=[_SIGN_IN, *_WORK],
            next=[first, NextCall("docs_search", {"query": "tutorial"}, "needs no account")],
        )  # fmt: skip
    return Onboarding(
        signed_in=True, signed_in_as=granted.caller.email, client=granted.client,
        scopes=sorted(granted.scopes), steps=_WORK,
        next=[
            NextCall("project_list"),
            NextCall("account_status", why="whether anything is missing"),
        ],
    )  # fmt: skip


TOOL = McpTool(
    "platform_get_onboarding",
    "Begin here",
    "Call this first: whether you are signed in, and the steps from here to a project.",
    Nothing,
    Onboarding,
    begin,
    scope="",
)
