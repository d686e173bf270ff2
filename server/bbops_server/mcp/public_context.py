"""Where the public tools work: what they may know and do for whoever asks."""

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
"""Writes into the audit log what was done, and to what."""

MCP_PATH: Final = "/mcp"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PublicContext:
    """For one call. `granted` is None for who is not known."""

    status: ServerProjects
    book: Book
    settings: Settings
    granted: Granted | None
    note: Note

    @property
    def caller(self) -> Caller:
        """Who asks."""
        return self.granted.caller if self.granted else NOBODY

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask the book, which blocks, in a thread. Raises: Refused: it is not at hand."""
        return await ask(call, *args, **kwargs)

    def link(self, path: str) -> str:
        """Return the whole address of a page."""
        return self.settings.control_url + path

    def may(self, permission: Permission, project: str = "") -> bool:
        """Return whether whoever asks may do something."""
        return may(self.caller, permission, project)

    def projects(self) -> list[Status]:
        """Return the projects that whoever asks may see."""
        found = self.status.projects()
        return [one for one in found if self.may(Permission.READ_PROJECT, one.name)]

    def project(self, name: str) -> Status:
        """Return a project.

        Raises:
            Refused: there is none of that name that they may see; which of both is not told.
        """
        seen = {one.name: one for one in self.projects()}
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
