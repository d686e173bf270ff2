"""The parent process: binds, starts the others, serves the control plane, ends them all."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from socket import socket
from typing import NamedTuple, Protocol

from bbops_server.control.app import create_control
from bbops_server.host.log import start_logging
from bbops_server.live.plane import Plane
from bbops_server.reconciler.status import StatusSource
from bbops_server.serving import Server, bind
from bbops_server.settings import Settings

GRACE_SECONDS = 10.0
"""How long requests under way may take once the server was told to stop."""


class Following(StatusSource, Protocol):
    """What works beside the server, and tells the control plane how far it is."""

    async def run(self) -> None:
        """Work until cancelled. When it fails, so does the server."""
        ...


async def run(settings: Settings, make: Callable[[Plane], Following]) -> None:
    """Serve until SIGTERM or SIGINT, then drain and return.

    Args:
        settings: its state folder exists; a port of 0 becomes a free one, see `Plane.settings`.
        make: makes what follows the source, once every process has started.

    Raises:
        ServerError: a port is taken, or a process does not start.
    """
    start_logging()
    stopped = asyncio.Event()
    _on_signal(stopped.set)
    with ExitStack() as sockets:
        data = sockets.enter_context(bind(settings.host, settings.port, option="--port"))
        control = sockets.enter_context(
            bind(settings.control_host, settings.control_port, option="--control-port")
        )
        ports = data.getsockname()[1], control.getsockname()[1]
        plane = Plane(replace(settings, port=ports[0], control_port=ports[1]), data)
        await plane.start()
        await _serve(plane, make(plane), Sockets(data, control), stopped)


class Sockets(NamedTuple):
    """The listening sockets of both planes."""

    data: socket
    control: socket


async def _serve(
    plane: Plane, following: Following, sockets: Sockets, stopped: asyncio.Event
) -> None:
    server = Server(create_control(following))
    serving = server.start(sockets.control)
    work = asyncio.create_task(following.run())
    told = asyncio.create_task(stopped.wait())
    await asyncio.wait({told, work, serving}, return_when=asyncio.FIRST_COMPLETED)
    failed = work.done()
    sockets.data.close()  # nobody shall queue behind processes that leave
    for task in (work, told):
        task.cancel()
    await asyncio.gather(plane.stop(GRACE_SECONDS), server.stop(GRACE_SECONDS))
    await asyncio.wait({work, told})
    if failed:
        await work


def _on_signal(callback: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, callback)
