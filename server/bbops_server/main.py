"""The parent process: binds, starts the others, serves the control plane, ends them all."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace

from bbops.errors import ServerError
from bbops_server.control.app import StatusSource, create_control
from bbops_server.host.log import start_logging
from bbops_server.live.plane import Plane
from bbops_server.serving import Server, bind
from bbops_server.settings import CONTROL_HOST, Settings

GRACE_SECONDS = 10.0
"""How long requests under way may take once the server was told to stop."""

Reconcile = Callable[[Plane], Awaitable[None]]


async def run(settings: Settings, *, reconcile: Reconcile, status: StatusSource) -> None:
    """Serve until SIGTERM or SIGINT, then drain and return.

    Args:
        reconcile: runs beside the server until it is cancelled; `plane.settings` has the real
            ports. When it fails, so does the server.
        status: what the control plane tells about the projects.

    Raises:
        ServerError: a port is taken, the state folder cannot be made, a process does not start.
    """
    start_logging()
    _make_state(settings)
    stopped = asyncio.Event()
    _on_signal(stopped.set)
    with ExitStack() as sockets:
        data = sockets.enter_context(bind(settings.host, settings.port, option="--port"))
        control = sockets.enter_context(
            bind(CONTROL_HOST, settings.control_port, option="--control-port")
        )
        settings = replace(
            settings, port=data.getsockname()[1], control_port=control.getsockname()[1]
        )
        plane = Plane(settings, data)
        await plane.start()
        server = Server(create_control(status))
        reconciling = asyncio.ensure_future(reconcile(plane))
        ends = {asyncio.create_task(stopped.wait()), reconciling, server.start(control)}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        failed = reconciling.done()
        data.close()  # nobody shall queue behind processes that leave
        reconciling.cancel()
        await asyncio.gather(plane.stop(GRACE_SECONDS), server.stop(GRACE_SECONDS))
        await asyncio.wait({reconciling})
    for task in ends:
        task.cancel()
    if failed:
        await reconciling


def _make_state(settings: Settings) -> None:
    try:
        settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(
            f"cannot make folder '{settings.state}': {reason}",
            hint="name a folder you may write with --state",
        ) from None


def _on_signal(callback: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, callback)
