"""Run a server until it is told to stop."""

from __future__ import annotations

import asyncio
import fcntl
import os

from bbops.errors import ServerError
from bbops_server.commands._report import Terminal, print_json
from bbops_server.host.secrets import Secrets
from bbops_server.live.plane import Plane
from bbops_server.main import run
from bbops_server.reconciler.attempt import Workshop
from bbops_server.reconciler.loop import Reconciler
from bbops_server.reconciler.sources import Source
from bbops_server.settings import Settings


def run_server(settings: Settings, source: Source, *, as_json: bool, tips: str = "") -> None:
    """Serve `source` until SIGTERM or Ctrl-C, then drain and return.

    Args:
        tips: said once the first release is live.

    Raises:
        BbopsError: it cannot start; says what is in the way.
    """
    hold_state(settings)
    secrets = Secrets.open(settings.state)
    report = print_json if as_json else Terminal(mode=settings.mode, tips=tips)

    def make(plane: Plane) -> Reconciler:
        return Reconciler(Workshop(plane.settings, plane, secrets), source, report)

    asyncio.run(run(settings, make))


def hold_state(settings: Settings) -> None:
    """Keep a second server away from this state folder, for as long as the process lives.

    Raises:
        ServerError: another one has it.
    """
    path = settings.state / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ServerError(
            f"another server uses the state folder '{settings.state}'",
            hint="stop it, or give this one its own with --state DIR",
        ) from None
