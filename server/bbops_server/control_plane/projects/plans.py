"""The live part of a plan: what `bbops plan --live` asks about tables of no commit."""

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

MOST_BYTES: Final = 4 << 20
_Name = Annotated[str, msgspec.Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,62}$")]


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tables as their files say them, and names of variables of which values are asked after."""

    tables: Annotated[dict[_Name, dict[str, Any]], msgspec.Meta(max_length=2_000)]
    env: Annotated[list[_Name], msgspec.Meta(max_length=1_000)] = []


class Weighed(msgspec.Struct, frozen=True):
    """The plan of `bbops db plan --json`, the names of variables that have a value, and jobs.

    `triggers` are the tables on which no SQL trigger can be created, with the `GRANT` for it.
    """

    hash: str | None
    waits: bool
    changes: list[dict[str, Any]]
    env: list[str]
    work: dict[str, tuple[int, int]] | None
    triggers: dict[str, str] = {}


@post(
    "/api/projects/{name:str}/plan", status_code=200, request_max_body_size=MOST_BYTES,
    opt={PERMISSION: Permission.PROPOSE},
)  # fmt: skip
async def weigh(visit: Here, name: FromPath[str], data: Annotated[Question, Body()]) -> Weighed:
    """Say what the live data would become with these tables, and change nothing."""
    try:
        found = await visit.control.status.weigh(name, data.tables, data.env)
    except BbopsError as error:
        raise refuse(error) from None
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return Weighed(**found)


ROUTES = (weigh,)
