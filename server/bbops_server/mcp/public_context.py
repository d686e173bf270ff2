"""The context of public tools: the data and rights of a caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

from bbops.base.diagnostics import suggest
from bbops.interfaces.answers import Status
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops_server.accounts.book import Book
from bbops_server.accounts.grants import Granted
from bbops_server.accounts.rules import NOBODY, Caller, Permission, may
from bbops_server.mcp.fair_queue import ask
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.settings import Settings

Note = Callable[[str, str], Awaitable[None]]
"""Writes an action and its object into the audit log."""

MCP_PATH: Final = "/mcp"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PublicContext:
    """The context of a call. `granted` is None without a sign-in."""

    status: ServerProjects
    book: Book
    settings: Settings
    granted: Granted | None
    note: Note

    @property
    def caller(self) -> Caller:
        """The caller."""
        return self.granted.caller if self.granted else NOBODY

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Query the accounts in a thread. Raises: ToolError: they are not available."""
        return await ask(call, *args, **kwargs)

    def link(self, path: str) -> str:
        """Return the URL of a page."""
        return self.settings.control_url + path

    def may(self, permission: Permission, project: str = "") -> bool:
        """Return whether the caller has a permission."""
        return may(self.caller, permission, project)

    def projects(self) -> list[Status]:
        """Return the projects that the caller may read."""
        found = self.status.projects()
        return [status for status in found if self.may(Permission.READ_PROJECT, status.name)]

    def project(self, name: str) -> Status:
        """Return a project.

        Raises:
            ToolError: it does not exist, or the caller may not read it; the message is the same.
        """
        seen = {status.name: status for status in self.projects()}
        if name in seen:
            return seen[name]
        near = suggest(name, seen)
        access = (
            "an owner of this server, or of the project, gives access to it: "
            f"{self.link('/people')}; do not guess other URLs"
        )
        raise ToolError(
            f"there is no project '{name[:64]}' that you have access to",
            hint=f"{near} {access}" if near else access,
            next=(NextCall("project_list", why="lists the projects that you have access to"),),
        )

    async def mcp_url(self, project: str) -> str:
        """Return the address of a project's MCP server."""
        key = await self.ask(self.book.addresses.of, project)
        return self.link(f"{MCP_PATH}/p/{key}")
