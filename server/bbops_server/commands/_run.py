"""Run a server until it is stopped.

Its processes start while the code that follows a source is imported.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bbops.base.errors import ServerError
from bbops.database.schema.place import name_database
from bbops_server.commands._main import Make, run
from bbops_server.commands._projects import hold_state, lock_state, read_holder
from bbops_server.commands._report import Terminal, print_json
from bbops_server.process.handover import place
from bbops_server.process.handover.protocol import end_process, has_open
from bbops_server.process.handover.seat import StateSeat
from bbops_server.process.handover.taking import NoPredecessor, Predecessor, UnresponsivePredecessor
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.reports import Reported
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.status.events import ReportProject, ServerReady
from bbops_server.settings import ProjectSettings, Settings

if TYPE_CHECKING:
    from bbops_server.publish.projects.file_follower import FileOptions, SettingsFollower
    from bbops_server.publish.projects.projects import ServerProjects
    from bbops_server.publish.sources.sources import RevisionSource
    from bbops_server.settings.server_file.model import ServerFile


def run_project(
    settings: Settings,
    project: ProjectSettings,
    source: RevisionSource,
    *,
    as_json: bool,
    tips: str = "",
    file: tuple[ServerFile, FileOptions] | None = None,
    replaces: bool = False,
) -> None:
    """Serve one project until SIGTERM or Ctrl-C, then drain and return.

    Args:
        settings: the server's settings.
        project: the project's settings.
        source: the source to follow.
        as_json: whether events are printed as JSON.
        tips: a text to print once the first release is live.
        file: the settings to follow while it runs, and their place.
        replaces: whether to replace a running server.

    Raises:
        BbopsError: it cannot start.
    """
    seat = take_seat(settings.state, replaces=replaces, hands_over=settings.mode == "serve")
    secrets = Secrets.open(project.state)
    tell: ReportProject = print_json if as_json else Terminal(mode=settings.mode, tips=tips)

    def load() -> Make:
        from bbops_server.process.webhooks.outbox import WebhookOutbox  # noqa: PLC0415
        from bbops_server.publish.projects.projects import ServerProjects  # noqa: PLC0415

        def make(plane: Plane) -> ServerProjects:
            async def work(projects: ServerProjects) -> None:
                projects.outbox = WebhookOutbox(lambda: plane.settings)
                answered = asyncio.Queue[Reported]()
                plane.on_report = answered.put_nowait
                followed = _followed(*file, plane) if file else None
                if followed is not None:
                    await followed.begin(projects)
                projects.start(PublishContext(project, source, plane, secrets))
                projects.started.set()
                await plane.opened.wait()
                projects.announce(_serving(plane, source.shown, str(project.postgres or "")))
                going_on = [
                    projects.outbox.run(),
                    _tell_answered(answered, projects),
                    *([followed.follow(projects)] if followed else []),
                ]
                await asyncio.gather(*going_on)

            return ServerProjects(tell, work)

        return make

    asyncio.run(run(settings, load, seat))


async def _tell_answered(answered: asyncio.Queue[Reported], projects: ServerProjects) -> None:
    """Tell of requests and jobs, by a task of the server: it ends with its terminal."""
    while True:
        projects.report("", await answered.get())


def _followed(file: ServerFile, options: FileOptions, plane: Plane) -> SettingsFollower:
    from bbops_server.publish.projects.file_follower import SettingsFollower  # noqa: PLC0415 - few need it

    return SettingsFollower(options, file, plane)


def run_file(
    settings: Settings,
    file: ServerFile,
    options: FileOptions,
    *,
    as_json: bool,
    replaces: bool = False,
) -> None:
    """Serve the projects of a file, as it is now and will be. Raises as `run_project`."""
    seat = take_seat(settings.state, replaces=replaces)
    tell: ReportProject = print_json if as_json else Terminal(mode=settings.mode)

    def load() -> Make:
        from bbops_server.process.webhooks.outbox import WebhookOutbox  # noqa: PLC0415
        from bbops_server.publish.projects.file_follower import FileFollower  # noqa: PLC0415 - see above
        from bbops_server.publish.projects.projects import ServerProjects  # noqa: PLC0415

        def make(plane: Plane) -> ServerProjects:
            followed = FileFollower(options, file, plane)

            async def announce(projects: ServerProjects) -> None:
                await plane.opened.wait()
                url = plane.settings.database_url
                shown = name_database(url) if url else ""
                projects.announce(_serving(plane, str(options.path), shown))

            async def send(outbox: WebhookOutbox) -> None:
                await plane.owned.wait()
                await outbox.run()

            async def work(projects: ServerProjects) -> None:
                projects.outbox = WebhookOutbox(lambda: plane.settings)
                await asyncio.gather(
                    announce(projects), followed.run(projects), send(projects.outbox)
                )

            return ServerProjects(tell, work)

        return make

    asyncio.run(run(settings, load, seat))


def _serving(plane: Plane, source: str, database: str) -> ServerReady:
    settings = plane.settings
    setup_url = settings.setup_url if settings.mode == "serve" else ""
    return ServerReady(settings.data_url, settings.control_url, source, setup_url, database)


# ---- The place of a server in a state folder: a free one, or the one of the running server

HELD: Final = (
    "stop it (process {process}), or take its place with 'bbops serve --replace',"
    " or give this one its own with --state DIR"
)
"""The hint for a state folder that another server uses."""

_FREE_SECONDS: Final = 10.0
_GONE_SECONDS: Final = 1.0
"""The time that the lock of a killed server may outlive its socket."""

_LEFT_SECONDS: Final = 3.0
"""The time that processes of a dead server may keep its ports."""

_LOOK_SECONDS: Final = 0.05
_log = logging.getLogger(__name__)


def take_seat(state: Path, *, replaces: bool = False, hands_over: bool = True) -> StateSeat:
    """Return a server's place in a state folder.

    Args:
        state: an existing folder.
        replaces: whether to replace the running server, which serves until this one is ready. A
            server that does not respond is killed.
        hands_over: whether this server can be replaced in the same way.

    Raises:
        ServerError: another process has it, and does not hand it over.
    """
    lock = lock_state(state) if replaces else hold_state(state, cure=HELD)
    patience = _LEFT_SECONDS if replaces else 0.0
    if lock is None:
        try:
            before = Predecessor.meet(state)
        except UnresponsivePredecessor as silent:
            lock, patience = _end_holder(state, silent), _FREE_SECONDS
        except NoPredecessor:
            lock = _wait_for_lock(state, _GONE_SECONDS)
            if lock is None:  # it was not killed a moment ago
                raise
        else:
            return StateSeat(state, before.lock, before.listening, before)
    return StateSeat(state, lock, _listen(state) if hands_over else None, patience_seconds=patience)


def _end_holder(state: Path, silent: UnresponsivePredecessor) -> int:
    """Kill a server that does not answer; return its lock."""
    holder = read_holder(state)
    if not has_open(holder, state / "lock"):
        raise ServerError(
            f"{silent}; its process is not visible here; it may run in another container",
            hint="stop it where it runs, then start this one",
        ) from None
    _log.error("%s: process %d is killed", silent, holder)
    end_process(holder)
    if (lock := _wait_for_lock(state, _FREE_SECONDS)) is None:
        raise ServerError(
            f"what uses the state folder '{state}' neither answers nor exits",
            hint=f"end process {holder or '?'}, then start this one",
        ) from None
    return lock


def _listen(state: Path) -> socket.socket | None:
    try:
        return place.listen(state)
    except OSError as error:
        reason = error.strerror or "no reason given"
        _log.warning("this server cannot be replaced while it runs: '%s': %s", state, reason)
        return None


def _wait_for_lock(state: Path, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while (lock := lock_state(state)) is None and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)  # another process holds the lock: nobody tells
    return lock
