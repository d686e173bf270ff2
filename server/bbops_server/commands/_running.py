"""The parts of a server: opened, given up to a successor, taken back, ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from socket import socket
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bbops_server.accounts.set_up_mark import must_hold_accounts
from bbops_server.publish.processes.plane import Plane
from bbops_server.settings import Settings

if TYPE_CHECKING:
    from bbops_server.control_plane.lifecycle import Control
    from bbops_server.publish.projects.projects import ServerProjects

GRACE_SECONDS: Final = 10.0
"""The time that running requests may take once the server is stopped."""

LEAVE_SECONDS: Final = 30.0
"""The time that they may take once a successor serves, when nothing waits for this server."""

_FINISH_SECONDS: Final = 20.0
"""The time that a publication in its migration may delay a successor."""


Make = Callable[[Plane], "ServerProjects"]
"""Create the projects of a server, once every process has started."""


class Sockets(NamedTuple):
    """The listening sockets of both planes."""

    data: socket
    control: socket


class Running:
    """A server's parts. The processes of `plane` have started, and accept nothing yet."""

    def __init__(self, plane: Plane, make: Make, sockets: Sockets, *, must_exist: bool) -> None:
        """`must_exist`: whether there are accounts already, so that set-up stays closed."""
        self.plane, self._make, self._sockets = plane, make, sockets
        self._must_exist = must_exist
        self._control: Control | None = None
        self._serving: asyncio.Task[None] | None = None
        self._begin()

    def _begin(self) -> None:
        self.following = self._make(self.plane)
        self._work = asyncio.create_task(self.following.run())

    @asynccontextmanager
    async def whole(self) -> AsyncIterator[None]:
        """End every part when the block fails."""
        try:
            yield
        except BaseException:
            if self._control is not None:
                await self._control.stop(0)
            await self._end_work()
            await self.plane.stop(0)
            raise

    async def until(self, ready: Coroutine[Any, Any, None], seconds: float | None = None) -> None:
        """Wait for what the work brings about, at most so long.

        Raises:
            Exception: what the work has failed with.
        """
        waiting = asyncio.create_task(ready)
        await asyncio.wait(
            {waiting, self._work}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if waiting.done():
            return await waiting
        waiting.cancel()
        if self._work.done():
            await self._work
        return None

    async def open(self, *, goes_on: bool = False) -> None:
        """Open the control plane, and accept there.

        Args:
            goes_on: whether another server was there until now.

        Raises:
            BbopsError: the state folder cannot be used.
        """
        if goes_on:
            self._must_exist |= _must_exist(self.plane.settings)
        control = await asyncio.to_thread(self._open_control, goes_on=goes_on)
        self.plane.settings = replace(self.plane.settings, setup_url=control.setup_url)
        self._control = control
        control.begin()
        self._serving = control.server.start(self._sockets.control.dup())
        self.plane.opened.set()

    def _open_control(self, *, goes_on: bool) -> Control:
        """Import Litestar and SQLAlchemy, which takes longer than a process takes to start."""
        from bbops_server.control_plane.lifecycle import open_control  # noqa: PLC0415

        return open_control(
            self.plane, self.following, must_exist=self._must_exist, is_handed_over=goes_on
        )

    async def serve(self, *until: Awaitable[Any]) -> None:
        """Serve until one of the awaitables is done, or a part of the server has ended."""
        assert self._serving is not None  # noqa: S101 - `open` comes first
        asked = {asyncio.ensure_future(end) for end in until}
        await asyncio.wait({*asked, self._work, self._serving}, return_when=asyncio.FIRST_COMPLETED)

    async def give_up(self) -> None:
        """Stop all changes for a successor, and keep answering requests."""
        assert self._control is not None  # noqa: S101 - `open` comes first
        await self._control.hand_over(LEAVE_SECONDS)
        self.plane.keeps_drafts = True
        self._work.cancel()
        await asyncio.wait({self._work}, timeout=_FINISH_SECONDS)
        await self.plane.release_ownership()
        await asyncio.wait({self._work})

    async def take_back(self) -> None:
        """Go on after `give_up`: there is no successor. Raises as `open`."""
        self._control, self.plane.keeps_drafts = None, False
        async with self.whole():
            await self.plane.regain_ownership()
            self._begin()
            await self.open(goes_on=True)

    async def leave(self) -> None:
        """Answer what is under way, and end, after `give_up`."""
        await self.plane.leave(LEAVE_SECONDS)
        await self.plane.stop(1)

    async def stop(self) -> None:
        """Answer what is under way, and end. Raises: Exception: what the work has failed with."""
        assert self._control is not None  # noqa: S101 - `open` comes first
        failed = self._work.done()
        self._sockets.data.close()  # nobody shall queue behind processes that leave
        self._work.cancel()
        await asyncio.gather(self.plane.stop(GRACE_SECONDS), self._control.stop(GRACE_SECONDS))
        await asyncio.wait({self._work})
        if failed:
            await self._work

    async def _end_work(self) -> None:
        self._work.cancel()
        with suppress(BaseException):
            await self._work


def _must_exist(settings: Settings) -> bool:
    return must_hold_accounts(settings.state, in_file=settings.accounts is None)
