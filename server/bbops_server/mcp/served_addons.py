"""Tests of addons' connections, for one caller: by rule, counted, on record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bbops.base.json_addons import TestedAddon
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.mcp.tool import Refused
from bbops_server.accounts.rules import Permission
from bbops_server.mcp.served import Served
from bbops_server.publish.projects.protocols import AddonSource, DraftSource

Wake = Callable[[str], Awaitable[tuple[DraftSource, DraftStatus]]]
"""Returns a project's drafts, and one of them once it is awake."""


async def test_addon(at: Served, wake: Wake, addon: str, draft: str) -> TestedAddon:
    """Test the connection of an addon: of a draft, or of what is live without a name.

    Raises:
        Refused: whoever asks may not, too much was tested, or there is no such project or draft.
    """
    await at.require(Permission.TEST_ADDONS)
    wait = at.control.limits.addon_tests.take(at.project)
    if wait:
        raise Refused(f"too many tests of addons; try again in {wait} s")
    source: AddonSource | None = at.control.status.addons(at.project)
    if draft:
        drafts, status = await wake(draft)
        source, draft = drafts.work(status.slug).addons, status.slug
    if source is None:
        raise Refused(f"there is no project '{at.project}'")
    found = await source.test(addon)
    about = " ".join(one for one in (draft, addon) if one)
    await at.note("test addon", f"{about}: {found.state}")
    return found
