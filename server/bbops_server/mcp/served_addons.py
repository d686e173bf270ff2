"""Connection tests of addons for an agent: permissions, limits and the audit log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bbops.base.json_work import TestedAddon
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.mcp.tool import ToolError
from bbops_server.accounts.rules import Permission
from bbops_server.mcp.served import Served
from bbops_server.process.messages.addons import TryAddon
from bbops_server.publish.projects.protocols import DraftSource

Wake = Callable[[str], Awaitable[tuple[DraftSource, DraftStatus]]]
"""Wakes a draft; returns the drafts of its project, and its status."""


async def test_addon(at: Served, wake: Wake, addon: str, draft: str) -> TestedAddon:
    """Test the connection of a draft's addon, or of the live one if `draft` is empty.

    Raises:
        Refused: the caller lacks permission, the limit is exceeded, or the project or draft does
            not exist.
    """
    await at.require(Permission.TEST_ADDONS)
    wait = at.control.limits.addon_tests.take(at.project)
    if wait:
        raise ToolError(f"too many tests of addons; try again in {wait} s")
    client = at.control.status.client(at.project)
    if draft:
        drafts, status = await wake(draft)
        client, draft = drafts.client(status.slug), status.slug
    if client is None:
        raise ToolError(f"there is no project '{at.project}'")
    result = await client.ask(TryAddon, addon)
    await at.note("test addon", f"{draft} {addon}".strip() + f": {result.state}")
    return TestedAddon(addon, result.state, result.text)
