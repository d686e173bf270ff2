"""The parent process: binds, starts the others, serves the control plane, ends them all."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from time import monotonic
from typing import Final

from bbops.base.errors import ServerError
from bbops_server.accounts.set_up_mark import must_hold_accounts, note_fresh
from bbops_server.commands._running import Make, Running, Sockets
from bbops_server.process.handover import place
from bbops_server.process.handover.offering import HandoverServer, Successor
from bbops_server.process.handover.protocol import HandoverDescriptors
from bbops_server.process.handover.seat import StateSeat, take_sockets
from bbops_server.process.handover.taking import Predecessor
from bbops_server.process.host.files import record_holder
from bbops_server.process.host.log import start_logging
from bbops_server.process.printing.listening import run_printer
from bbops_server.process.sockets.binding import find_sockets, require_https
from bbops_server.publish.processes.plane import Plane
from bbops_server.settings import Settings

__all__ = ["Make", "run"]

RESTORE_SECONDS: Final = 5.0
"""The time that requests wait at startup for the last live release, before they get a 503."""

_LOOK_SECONDS: Final = 0.1


async def run(settings: Settings, load: Callable[[], Make], seat: StateSeat | None = None) -> None:
    """Serve until SIGTERM, SIGINT or a successor, then drain and return.

    Args:
        settings: its state folder exists; a port of 0 becomes a free one, see `Plane.settings`.
        load: imports what `Make` needs; it runs in a thread while the processes start.
        seat: the place in the state folder; without one, no server replaces another.

    Raises:
        BbopsError: a port is taken, a process does not start, or the state cannot be used. A
            server that would be replaced keeps serving.
    """
    start_logging()
    require_https(settings)
    must_exist = must_hold_accounts(settings.state, in_file=settings.accounts is None)
    if not must_exist:
        note_fresh(settings.state)
    stopped = asyncio.Event()
    _on_signal(stopped.set)
    with ExitStack() as held:
        sockets = await _find_sockets(settings, seat)
        for listener in sockets:
            held.enter_context(listener)
        ports = sockets.data.getsockname()[1], sockets.control.getsockname()[1]
        browser = settings.browser
        async with (
            run_printer(browser.program, sandbox=browser.sandbox) as printer,
            _offered(sockets, seat) as offer,
        ):
            found = replace(settings, port=ports[0], control_port=ports[1], printer=printer)
            plane = Plane(found, sockets.data)
            make, _ = await asyncio.gather(asyncio.to_thread(load), plane.start())
            running = Running(plane, make, sockets, must_exist=must_exist)
            async with running.whole():
                if seat is None or seat.predecessor is None:
                    await _start(running)
                else:
                    await _take_over(running, seat, seat.predecessor, stopped)
            await _serve(running, stopped, offer)


async def _start(running: Running) -> None:
    """Serve what was live before; who comes meanwhile waits."""
    plane = running.plane
    await plane.own()
    plane.alone.set()
    await running.until(running.following.restored(), RESTORE_SECONDS)
    await plane.listen()
    await running.open()


async def _take_over(
    running: Running, seat: StateSeat, before: Predecessor, stopped: asyncio.Event
) -> None:
    """Be ready beside a server, then take its place.

    Raises:
        BbopsError: this one cannot serve what that one does, which therefore keeps serving.
    """
    plane, following = running.plane, running.following
    await running.until(following.warm())
    if stopped.is_set():
        raise ServerError(
            "it was stopped before it replaced the running server",
            hint="the running server keeps serving",
        )
    await before.give_up()
    record_holder(seat.lock)
    await running.until(following.warm())  # it may have published since
    await plane.own()
    await running.until(following.restored(), RESTORE_SECONDS)
    await running.open(goes_on=True)
    await plane.listen()
    await before.leave()
    plane.alone.set()


async def _serve(running: Running, stopped: asyncio.Event, offer: HandoverServer | None) -> None:
    """Serve until told to stop, or until a successor does; then end."""
    if offer is not None:
        offer.open()
    while (successor := await _find_successor(running, stopped, offer)) is not None:
        await running.give_up()
        if await successor.takes_over():
            await running.leave()
            return
        await running.take_back()
    if offer is not None:
        offer.is_ready = False
    await running.stop()


async def _find_successor(
    running: Running, stopped: asyncio.Event, offer: HandoverServer | None
) -> Successor | None:
    """Serve until a successor is ready, and return it; None once this server is to end."""
    told = asyncio.create_task(stopped.wait())
    if offer is None:
        await running.serve(told)
        told.cancel()
        return None
    wanted = asyncio.create_task(offer.wait_for_successor())
    await running.serve(told, wanted)
    is_wanted = wanted.done() and not told.done()
    for task in (told, wanted):
        task.cancel()
    return wanted.result() if is_wanted else None


@asynccontextmanager
async def _offered(
    sockets: Sockets, seat: StateSeat | None
) -> AsyncIterator[HandoverServer | None]:
    """Let successors ask while the block runs."""
    if seat is None or seat.listening is None:
        yield None
        return
    data, control = sockets
    handed = HandoverDescriptors(
        data.fileno(), control.fileno(), seat.lock, seat.listening.fileno()
    )
    offer = HandoverServer(handed, seat.listening)
    try:
        yield offer
    finally:
        is_last = offer.has_served and not offer.is_in_use
        await offer.close()
        if is_last:
            place.remove(seat.state)


async def _find_sockets(settings: Settings, seat: StateSeat | None) -> Sockets:
    """Return the listening sockets of both planes.

    Raises:
        ServerError: a port is taken; one of a server that was killed is waited for.
    """
    before = seat.predecessor.sockets if seat and seat.predecessor else ()
    given, until = take_sockets(), monotonic() + (seat.patience_seconds if seat else 0)
    while True:
        try:
            return Sockets(*find_sockets(settings, before, given))
        except ServerError:
            if monotonic() > until:
                raise
        await asyncio.sleep(_LOOK_SECONDS)  # the port is another process's: nobody tells


def _on_signal(callback: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, callback)
