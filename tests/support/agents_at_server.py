"""A server within this process, and agents of its people: they call tools as the door would."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import pytest

from bbops.interfaces.mcp.tool import ToolError, call, find_tool
from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Caller, Role
from bbops_server.control_plane.web.state import ControlState
from bbops_server.git_http.serving import GitHttp
from bbops_server.mcp.project_backend import open_workplace
from bbops_server.process.sockets.binding import bind
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.projects.file_follower import FileFollower, FileOptions
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.settings.server_file.load import read_file
from bbops_server.settings.server_file.settings import server_settings
from tests.support.checkouts import TOOLS, checked
from tests.support.patience import PATIENCE_SECONDS, wait_for

T = TypeVar("T")
ROLES = {
    "maintainer": Role.MAINTAINER, "developer": Role.DEVELOPER, "viewer": Role.VIEWER,
    "stranger": None,
}  # fmt: skip


class _Loop(asyncio.SelectorEventLoop):
    def add_signal_handler(self, *_: Any) -> None:
        """Leave signals to the main thread."""


async def _cancel_the_rest() -> None:
    """Cancel what still runs, as `asyncio.run` does at its end."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


class House:
    """A server of projects; its loop runs on a thread of its own. Use it as a context."""

    def __init__(self, folder: Path, text: str) -> None:
        """`text` is a server.yaml in the folder, whose projects are named as there."""
        file = folder / "server.yaml"
        file.write_text(text)
        read = read_file(file).file
        assert read is not None
        self.folder, self.names = folder, [*read.projects]
        self.state = folder / "state"
        self.state.mkdir(mode=0o700)
        self.loop, self.sockets = _Loop(), ExitStack()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        data = self.sockets.enter_context(bind("127.0.0.1", 0, option="--port"))
        own = {"port": data.getsockname()[1]}
        self.plane = Plane(server_settings(read, self.state, own), data)
        self.followed = FileFollower(FileOptions(file, 1.0, own), read, self.plane)
        self.book = Book.open(self.state)
        self.projects = ServerProjects(lambda *_: None, self.followed.run)
        self.control = ControlState(
            self.projects, self.book, lambda: self.plane.settings, "bbl_local"
        )
        self.book.people.add(NewPerson("owner@example.com", "owner", role=Role.OWNER))
        self.people = {name: self._add(name, role) for name, role in ROLES.items()}
        self.run(self._start())
        self.api = httpx.Client(base_url=self.plane.settings.data_url, timeout=PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        wait_for(lambda: {one.board.name for one in self.live()} == {*self.names})
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._stop())
        self.run(_cancel_the_rest())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE_SECONDS)
        self.loop.close()
        self.book.close()
        self.api.close()
        self.sockets.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_SECONDS)

    def live(self) -> list[Any]:
        """Return what follows the projects that answer."""
        return [one for one in self.projects.reconcilers() if one.board.release is not None]

    def loop_of(self, project: str) -> Any:
        """Return what follows a project."""
        return next(one for one in self.projects.reconcilers() if one.board.name == project)

    def agent(self, name: str = "developer", project: str = "shop", **more: Any) -> ServedAgent:
        """Return the agent of somebody, on a project."""
        return ServedAgent(self, self.caller(name, **more), project)

    def caller(self, name: str, **more: Any) -> Caller:
        """Return somebody as the book of accounts knows them."""
        roles = dict.fromkeys(self.names, ROLES[name]) if ROLES[name] else {}
        email = f"{name}@example.com"
        return Caller(
            **{"how": "session", "person": self.people[name], "email": email, "name": name,
               "projects": roles} | more
        )  # fmt: skip

    def _add(self, name: str, role: Role | None) -> str:
        person = self.book.people.add(NewPerson(f"{name}@example.com", name, role=None))
        for project in self.names if role is not None else ():
            self.book.members.set_role(person.id, role, project)
        return person.id

    async def _start(self) -> None:
        await self.plane.start()
        state = self.plane.settings.state
        self.control.git = GitHttp(
            self.plane.build, self.projects, state / "git", self.book.proposals
        )
        self.task = asyncio.create_task(self.projects.run())
        self.plane.opened.set()
        await self.plane.own()
        self.plane.alone.set()
        await self.plane.listen()

    async def _stop(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})
        await self.control.git.stop()
        await self.plane.stop(PATIENCE_SECONDS)


class ServedAgent:
    """Somebody's agent on one project."""

    def __init__(self, house: House, caller: Caller, project: str) -> None:
        self.house, self.caller, self.project = house, caller, project
        self.place = open_workplace(house.control, caller, project)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        done = self.house.run(call(find_tool(TOOLS, tool), self.place, arguments))
        return checked(tool, done)

    def refused(self, tool: str, **arguments: Any) -> ToolError:
        """Call a tool that refuses, and return how."""
        with pytest.raises(ToolError) as caught:
            self.call(tool, **arguments)
        return caught.value

    def change(self, draft: str, *changes: dict[str, Any], base: str = "") -> str:
        """Bring changes into a draft; return the commit."""
        plan = self.call("preview_changes", draft=base, changes=list(changes))["plan"]
        done = self.call("apply_changes", draft=draft, plan=plan, message="Change")
        return str(done["commit"])

    def propose(self, draft: str, *changes: dict[str, Any]) -> dict[str, Any]:
        """Bring changes into a draft and propose it."""
        self.change(draft, *changes)
        return self.call("apply_pull_request", draft=draft, title="Change", body="Why")
