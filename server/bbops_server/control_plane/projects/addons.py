"""Connection tests of addons, with the server's settings and values."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar.exceptions import HTTPException
from litestar.params import Body, FromPath

from bbops.base.json_work import TestedAddon
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import Visited, change_both
from bbops_server.control_plane.web.visit import too_many_attempts
from bbops_server.process.messages.api_keys import TryAddon


class OneAddon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of an addon, such as `payments`."""

    addon: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


@change_both("/addons/test", Permission.TEST_ADDONS)
async def test_addon(
    project: Visited, name: FromPath[str], data: Annotated[OneAddon, Body()]
) -> TestedAddon:
    """Test the connection of an addon of the live release or a draft, which changes nothing."""
    wait = project.visit.control.limits.addon_tests.take(name)
    if wait:
        headers = {"retry-after": str(wait)}
        raise HTTPException(too_many_attempts(wait).message, status_code=429, headers=headers)
    result = await project.ask(TryAddon, data.addon)
    await project.note("test addon", f"{data.addon}: {result.state}")
    return TestedAddon(data.addon, result.state, result.text)


ROUTES = (*test_addon,)
