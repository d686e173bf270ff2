"""Run a server until it is told to stop.

Processes start before the code of what follows a source is read: each takes its own time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bbops.database.schema.place import name_database
from bbops_server.commands._main import Make, run
from bbops_server.commands._report import Terminal, print_json
from bbops_server.commands._seat import take_seat
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
        settings: of the server.
        project: its settings.
        source: what it follows.
        as_json: whether events are told as JSON.
        tips: said once the first release is live.
        file: the settings that are followed while it runs, and where they are.
        replaces: whether it takes the place of a server that runs.

    Raises:
        BbopsError: it cannot start; says what is in the way.
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
