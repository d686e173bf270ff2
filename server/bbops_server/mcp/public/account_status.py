"""account_status: the account of the signed-in user, and the missing fields of its profile."""

from __future__ import annotations

import msgspec

from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolResult
from bbops_server.accounts.people import Person
from bbops_server.mcp.public._takes import Nothing
from bbops_server.mcp.public_context import PublicContext

PROFILE = ("name", "company")


class Workspace(msgspec.Struct, frozen=True):
    """The owner of the projects of this server."""

    name: str
    company: str


class Account(ToolResult, frozen=True):
    """The signed-in account. `missing_fields` are parameters of account_setup."""

    email: str
    name: str
    company: str
    role: str
    projects: dict[str, str]
    workspace: Workspace
    scopes: list[str]
    missing_fields: list[str]


async def find_person(at: PublicContext) -> Person:
    """Return the signed-in account. Raises: ToolError: it no longer exists."""
    found = await at.ask(at.book.people.get, at.caller.person)
    if found is None:
        raise ToolError("this account no longer exists", hint="sign in again")
    return found


def find_missing(person: Person) -> list[str]:
    """Return the fields of a profile that are empty."""
    return [field for field in PROFILE if not getattr(person, field)]


async def show(at: PublicContext, _: Nothing) -> Account:
    """Return the account."""
    person, workspace = await find_person(at), await at.ask(at.book.workspaces.get)
    missing = find_missing(person)
    fill = NextCall("account_setup", dict.fromkeys(missing, "…"), "ask the person for these")
    return Account(
        email=person.email, name=person.name, company=person.company,
        role=at.caller.role or "", projects=dict(at.caller.projects),
        workspace=Workspace(workspace.name, workspace.company),
        scopes=sorted(at.granted.scopes) if at.granted else [], missing_fields=missing,
        next=[fill if missing else NextCall("project_list")],
    )  # fmt: skip


TOOL = McpTool(
    "account_status",
    "Account",
    "Who is signed in, their role, and which fields of their profile are missing.",
    Nothing,
    Account,
    show,
)
