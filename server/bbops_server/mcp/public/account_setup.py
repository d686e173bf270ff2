"""account_setup: fill in the missing fields of a profile."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bbops.interfaces.mcp.tool import WRITES, McpTool, NextCall, ToolError, ToolParams, ToolResult
from bbops_server.accounts.tables import TEXT_LENGTH
from bbops_server.mcp.public.account_status import find_missing, find_person
from bbops_server.mcp.public_context import PublicContext

Line = Annotated[str, msgspec.Meta(max_length=TEXT_LENGTH)]


class Profile(ToolParams, frozen=True):
    """The fields that account_status reports as missing."""

    name: Line = ""
    company: Line = ""


class Saved(ToolResult, frozen=True):
    """The new profile."""

    name: str
    company: str
    missing_fields: list[str]


async def save(at: PublicContext, given: Profile) -> Saved:
    """Fill in the empty fields."""
    person = await find_person(at)
    missing, filled = (
        find_missing(person),
        [field for field in ("name", "company") if getattr(given, field)],
    )
    taken = [field for field in filled if field not in missing]
    if taken:
        raise ToolError(
            f"'{taken[0]}' is already set, and agents cannot change profiles",
            hint=f"the user can change it at {at.link('/account')}",
            next=(NextCall("account_status"),),
        )  # fmt: skip
    name, company = given.name or person.name, given.company or person.company
    if filled:
        await at.ask(at.book.people.set_profile, person.id, name, company)
        await at.note("change profile", "")
    left = find_missing(await find_person(at))
    return Saved(name=name, company=company, missing_fields=left, next=[NextCall("project_list")])


TOOL = McpTool(
    "account_setup",
    "Complete the account",
    "Fills in the profile fields that account_status reports as missing; ask the person for them.",
    Profile,
    Saved,
    save,
    scope="builder",
    hints=WRITES,
)
