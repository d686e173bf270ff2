"""Test the connection of an addon at the server, with the values that the server has."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import Body, FromPath

from bbops.base.errors import BbopsError
from bbops.base.json_addons import TestedAddon
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change
from bbops_server.control_plane.web.visit import Here, Visit, too_many
from bbops_server.publish.projects.protocols import AddonSource

_DRAFT: Final = "/api/projects/{name:str}/drafts/{slug:str}"


class OneAddon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An addon by its name, such as `payments`."""

    addon: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


@change("/api/projects/{name:str}/addons/test", Permission.TEST_ADDONS, status=200)
async def test_addon(
    visit: Here, name: FromPath[str], data: Annotated[OneAddon, Body()]
) -> TestedAddon:
    """Test the connection of an addon, as the live release has it. It only reads at the vendor."""
    source = visit.control.status.addons(name)
    if source is None:
        raise NotFoundException(f"there is no project '{name}'")
    return await _test(visit, name, "", source, data.addon)


@change(f"{_DRAFT}/addons/test", Permission.TEST_ADDONS, status=200)
async def test_draft_addon(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneAddon, Body()]
) -> TestedAddon:
    """Test the connection of an addon of a draft, with the values of drafts."""
    drafts = visit.control.status.drafts(name)
    found = drafts.find(slug) if drafts is not None else None
    if drafts is None or found is None:
        raise NotFoundException(f"project '{name}' has no draft '{slug}'")
    return await _test(visit, name, found.slug, drafts.work(found.slug).addons, data.addon)


async def _test(
    visit: Visit, name: str, draft: str, source: AddonSource, addon: str
) -> TestedAddon:  # fmt: skip
    wait = visit.control.limits.addon_tests.take(name)
    if wait:
        again = {"retry-after": str(wait)}
        raise HTTPException(too_many(wait).message, status_code=429, headers=again)
    try:
        found = await source.test(addon)
    except BbopsError as error:
        raise refuse(error) from None
    about = " ".join(one for one in (name, draft, addon) if one)
    await visit.note("test addon", object=f"{about}: {found.state}")
    return found


ROUTES = (test_addon, test_draft_addon)
