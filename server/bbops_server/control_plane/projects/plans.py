"""The live part of a plan: effects of uncommitted tables on live data, for `bbops plan --live`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from litestar import post
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath

from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import PERMISSION
from bbops_server.control_plane.web.visit import Here

MAX_BODY_BYTES: Final = 4 << 20
_Name = Annotated[str, msgspec.Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,62}$")]


class LivePlanRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tables as in their files, and names of variables whose values are checked for existence."""

    tables: Annotated[dict[_Name, dict[str, Any]], msgspec.Meta(max_length=2_000)]
    env: Annotated[list[_Name], msgspec.Meta(max_length=1_000)] = []


class LivePlan(msgspec.Struct, frozen=True):
    """The plan as of `bbops db plan --json`, names of variables with a value, and job counts.

    Attributes:
        triggers: tables on which no SQL trigger can be created, with the `GRANT` that allows it.
    """

    hash: str | None
    waits: bool
    changes: list[dict[str, Any]]
    env: list[str]
    work: dict[str, tuple[int, int]] | None
    triggers: dict[str, str] = {}


@post(
    "/api/projects/{name:str}/plan", status_code=200, request_max_body_size=MAX_BODY_BYTES,
    opt={PERMISSION: Permission.PROPOSE},
)  # fmt: skip
async def plan_live(
    visit: Here, name: FromPath[str], data: Annotated[LivePlanRequest, Body()]
) -> LivePlan:
    """Plan the change of the live database to these tables, without making it."""
    try:
        plan = await visit.control.status.plan_live(name, data.tables, data.env)
    except BbopsError as error:
        raise refuse(error) from None
    if plan is None:
        raise NotFoundException(f"there is no project '{name}'")
    return LivePlan(**plan)


ROUTES = (plan_live,)
