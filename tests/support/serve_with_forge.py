"""A server of one hosted repository whose forge is a folder: `serve URL …`, as of `bbops serve`.

The variable `FORGE_FOLDER` names the folder of a `ForgeFolder`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bbops.source.git.address import Address
from bbops_server.commands._main import run
from bbops_server.commands._report import print_json
from bbops_server.commands._running import Make
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.webhooks.outbox import WebhookOutbox
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.status.events import ServerReady
from bbops_server.settings import ProjectSettings, Settings
from tests.support.forge_folder import ForgeFolder

POLL_SECONDS = 0.3


def serve(url: str, state: Path, forge: Path | None) -> None:
    """Serve a repository until SIGTERM."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = Settings(state, port=0, control_port=0)
    address = Address.parse(url)
    assert address is not None
    source = RemoteSource(address, "main", state / "mirror", every_seconds=POLL_SECONDS)
    hosted = ForgeFolder(forge) if forge else None

    def make(plane: Plane) -> ServerProjects:
        async def work(projects: ServerProjects) -> None:
            projects.outbox = WebhookOutbox(lambda: plane.settings)
            secrets = Secrets.open(state)
            project = ProjectSettings(state)
            projects.start(PublishContext(project, source, plane, secrets, forge=hosted))
            projects.started.set()
            await plane.opened.wait()
            own = plane.settings
            projects.announce(ServerReady(own.data_url, own.control_url, url, "", ""))
            await projects.outbox.run()

        return ServerProjects(print_json, work)

    def load() -> Make:
        return make

    asyncio.run(run(settings, load))


if __name__ == "__main__":
    folder = os.environ.get("FORGE_FOLDER")
    serve(sys.argv[2], Path.cwd() / ".bbops/state", Path(folder) if folder else None)
