"""Connection tests of addons, with the server's settings and values."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar.exceptions import HTTPException
from litestar.params import Body, FromPath

from bbops.base.json_work import TestedAddon
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT, VisitedProject
from bbops_server.control_plane.web.routes import change
from bbops_server.control_plane.web.visit import Here, too_many_attempts
from bbops_server.process.messages.api_keys import TryAddon


class OneAddon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of an addon, such as `payments`."""

    addon: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


@change(f"{PROJECT}/addons/test", Permission.TEST_ADDONS, status=200)
async def test_addon(
    visit: Here, name: FromPath[str], data: Annotated[OneAddon, Body()]
) -> TestedAddon:
    """Test the connection of the live release's addon. The test only reads at the vendor."""
    return await _test(VisitedProject.open(visit, name), name, data.addon)


@change(f"{DRAFT}/addons/test", Permission.TEST_ADDONS, status=200)
async def test_draft_addon(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneAddon, Body()]
) -> TestedAddon:
    """Test the connection of a draft's addon, with the values of drafts."""
    return await _test(VisitedProject.open_draft(visit, name, slug), name, data.addon)


async def _test(project: VisitedProject, name: str, addon: str) -> TestedAddon:
    wait = project.visit.control.limits.addon_tests.take(name)
    if wait:
        headers = {"retry-after": str(wait)}
        raise HTTPException(too_many_attempts(wait).message, status_code=429, headers=headers)
    result = await project.ask(TryAddon, addon)
    await project.note("test addon", f"{addon}: {result.state}")
    return TestedAddon(addon, result.state, result.text)


ROUTES = (test_addon, test_draft_addon)
