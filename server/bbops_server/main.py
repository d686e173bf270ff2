"""The parent process: binds, starts the others, serves the control plane, ends them all."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from socket import socket
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bbops.errors import BbopsError
from bbops_server.accounts.kept import must_hold_accounts, note_fresh
from bbops_server.binding import bind, require_https
from bbops_server.host.log import start_logging
from bbops_server.live.plane import Plane
from bbops_server.reconciler.asked import StatusSource
from bbops_server.settings import Settings, WebhookEvent

if TYPE_CHECKING:
    from bbops_server.control.opening import Control
    from bbops_server.reconciler.loop import Reconciler

GRACE_SECONDS = 10.0
"""How long requests under way may take once the server was told to stop."""


class Following(StatusSource, Protocol):
    """What works beside the server, and tells the control plane how far it is."""

    def reconcilers(self) -> Iterable[Reconciler]:
        """Return the loop of every project."""
        ...

    def inform(self, reconciler: Reconciler, event: WebhookEvent, told: Mapping[str, Any]) -> None:
        """Let others know what happened to a project."""
        ...

    async def run(self) -> None:
        """Work until cancelled. When it fails, so does the server."""
        ...


Make = Callable[[Plane], Following]
"""Makes what follows the source, once every process has started."""


async def run(settings: Settings, load: Callable[[], Make]) -> None:
    """Serve until SIGTERM or SIGINT, then drain and return.

    Args:
        settings: its state folder exists; a port of 0 becomes a free one, see `Plane.settings`.
        load: imports what `Make` needs; it runs in a thread while the processes start.

    Raises:
        BbopsError: a port is taken, a process does not start, or the state cannot be used.
    """
    start_logging()
    require_https(settings)
    must_exist = must_hold_accounts(settings.state, in_file=settings.accounts is None)
    if not must_exist:
        note_fresh(settings.state)
    stopped = asyncio.Event()
    _on_signal(stopped.set)
    with ExitStack() as sockets:
        data = sockets.enter_context(bind(settings.host, settings.port, option="--port"))
        control = sockets.enter_context(
            bind(settings.control_host, settings.control_port, option="--control-port")
        )
        ports = data.getsockname()[1], control.getsockname()[1]
        plane = Plane(replace(settings, port=ports[0], control_port=ports[1]), data)
        make, _ = await asyncio.gather(asyncio.to_thread(load), plane.start())
        following = make(plane)
        work = asyncio.create_task(following.run())  # projects answer before the control plane
        opened = await _open(plane, following, work, must_exist=must_exist)
        await _serve(Parts(plane, opened, work, Sockets(data, control)), stopped)


class Sockets(NamedTuple):
    """The listening sockets of both planes."""

    data: socket
    control: socket


class Parts(NamedTuple):
    """What runs until the server is told to stop."""

    plane: Plane
    control: Control
    work: asyncio.Task[None]
    sockets: Sockets


def _open_control(plane: Plane, following: Following, *, must_exist: bool) -> Control:
    """Import Litestar and SQLAlchemy, which takes longer than a process takes to start; open it."""
    from bbops_server.control.opening import open_control  # noqa: PLC0415

    return open_control(plane, following, must_exist=must_exist)


async def _open(
    plane: Plane, following: Following, work: asyncio.Task[None], *, must_exist: bool
) -> Control:
    try:
        control = await asyncio.to_thread(_open_control, plane, following, must_exist=must_exist)
    except BbopsError:
        work.cancel()
        await asyncio.wait({work})
        await plane.stop(0)
        raise
    plane.settings = replace(plane.settings, setup_url=control.setup_url)
    plane.opened.set()
    return control


async def _serve(parts: Parts, stopped: asyncio.Event) -> None:
    plane, control, work, sockets = parts
    serving = control.server.start(sockets.control)
    told = asyncio.create_task(stopped.wait())
    await asyncio.wait({told, work, serving}, return_when=asyncio.FIRST_COMPLETED)
    failed = work.done()
    sockets.data.close()  # nobody shall queue behind processes that leave
    for task in (work, told):
        task.cancel()
    await asyncio.gather(plane.stop(GRACE_SECONDS), control.stop(GRACE_SECONDS))
    await asyncio.wait({work, told})
    if failed:
        await work


def _on_signal(callback: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, callback)
