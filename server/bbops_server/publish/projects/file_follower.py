"""Follow a server's file: a change is applied within a second, or rejected as a whole.

Projects are added, removed and moved while others keep serving, without dropped requests.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from bbops.base.diagnostics import Diagnostic
from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ServerStatus
from bbops.source.git.address import Address
from bbops_server.forges.credentials import open_forge
from bbops_server.forges.hosted import HostedForge
from bbops_server.process.children import hide_variables
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.projects import EVERYWHERE, ProjectPlace
from bbops_server.publish.processes.plane import Arrangement, Plane
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.remote import RemoteSource, make_authorize
from bbops_server.publish.sources.sources import BranchSource, RevisionSource
from bbops_server.publish.status.events import SettingsApplied, SettingsRejected
from bbops_server.settings import ProjectSettings
from bbops_server.settings.server_file.load import Read, read_file
from bbops_server.settings.server_file.model import LoneFile, ServedProject, ServerFile
from bbops_server.settings.server_file.settings import (
    access_settings,
    draft_settings,
    find_restarts,
    freeze_settings,
    project_settings,
    webhook_settings,
    work_settings,
)

POLL_SECONDS = 0.25
"""A change is read once the file is unchanged for so long: an editor may still be writing."""

_log = logging.getLogger(__name__)

_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The options of the command line; `given` settings override the file."""

    path: Path
    every_seconds: float
    given: Mapping[str, Any]


class FileFollower:
    """Applies a server's file, and each of its changes."""

    form: ClassVar[type[ServerFile]] = ServerFile

    def __init__(self, options: FileOptions, first: ServerFile, plane: Plane) -> None:
        self.options, self.first, self.plane = options, first, plane
        self.path = options.path
        self.file = ServerFile(projects={})
        self.poll_requested = asyncio.Event()

    async def run(self, projects: ServerProjects) -> None:
        """Apply the file and its changes until cancelled. SIGHUP requests a poll."""
        await self.begin(projects)
        projects.started.set()
        await self.plane.owned.wait()
        await self.follow(projects)

    async def begin(self, projects: ServerProjects) -> None:
        """Apply the file that was read when the server started."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.poll_requested.set)
        projects.settings = ServerStatus(str(self.path))
        await self.apply(self.first, projects)

    async def follow(self, projects: ServerProjects) -> None:
        """Apply each change until cancelled."""
        seen: _Stamp = None  # read the file again: it may have changed since the start
        while True:
            seen = await self.wait(seen)
            try:
                await self.take(await asyncio.to_thread(self.read), projects)
            except Exception:  # noqa: BLE001 - the projects keep serving
                _log.exception("a change of '%s' failed; the live releases keep serving", self.path)

    def read(self) -> Read:
        """Read the current file."""
        return read_file(self.path, form=self.form)

    async def wait(self, seen: _Stamp) -> _Stamp:
        """Return the file's stamp once it has changed and is stable."""
        last = seen
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self.poll_requested.wait()
                self.poll_requested.clear()
                return _stamp(self.path)
            now = _stamp(self.path)
            if now == last != seen:
                return now
            last = now

    async def take(self, read: Read, projects: ServerProjects) -> None:
        """Apply a file that was read, or report why it is rejected."""
        if read.file is None or read.document is None:
            diagnostics = _as_json(read.diagnostics)
            if diagnostics != projects.settings.diagnostics:
                projects.settings = ServerStatus(str(self.path), diagnostics)
                projects.report("", SettingsRejected(diagnostics))
            return
        warnings = find_restarts(
            self.path.name, read.document, self.first, read.file, self.options.given
        )
        diagnostics = _as_json([*read.diagnostics, *warnings])
        is_new = diagnostics != projects.settings.diagnostics or read.file != self.file
        projects.settings = ServerStatus(str(self.path), diagnostics)
        changes = await self.apply(read.file, projects)
        if is_new:
            projects.report("", replace(changes, diagnostics=diagnostics))

    async def apply(self, new: ServerFile, projects: ServerProjects) -> SettingsApplied:
        """Apply a new file; return the names of the affected projects."""
        old, self.file = self.file, new
        changes = _compare(old, new)
        restarted = [name for name in changes.changed if _follows_other(old, new, name)]
        self.take_settings(new)
        settings = project_settings(new, self.plane.settings)
        await self.arrange(new, settings)
        for name in (*changes.removed, *restarted):
            projects.end(name)
        for name in (*changes.added, *restarted):
            projects.start(self.context(settings[name], new.projects[name]))
        for name in new.projects.keys() - {*changes.added, *restarted}:
            projects.move(settings[name])
        return changes

    def take_settings(self, new: ServerFile) -> None:
        """Apply the settings of the whole server: addresses, access, freezes, drafts and egress."""
        data = new.urls.data or ""
        control = self.options.given.get("control_shown") or new.urls.control or ""
        self.plane.settings = replace(
            self.plane.settings, data_shown=data, control_shown=control,
            access=access_settings(new), freezes=freeze_settings(new),
            drafts=draft_settings(new),
            egress=tuple(new.egress.allow), reads_clients=new.egress.client_documents,
            webhooks=webhook_settings(new), version_tag=new.version_tag,
        )  # fmt: skip
        hide_variables(self.plane.settings.secret_variables)

    async def arrange(self, new: ServerFile, settings: Mapping[str, ProjectSettings]) -> None:
        """Serve the projects at the addresses of the file."""
        places = {
            name: ProjectPlace(
                project.hosts, project.prefix, (project.state / "publication.json").exists()
            )
            for name, project in settings.items()
        }
        await self.notify_plane(_arrangement(places, new))

    async def notify_plane(self, arrangement: Arrangement) -> None:
        """Send an arrangement to the data processes; unresponsive ones get it later."""
        try:
            await self.plane.arrange(arrangement)
        except BbopsError as error:
            _log.error("a process was not notified of a change of '%s': %s", self.path, error)

    def context(self, settings: ProjectSettings, served: ServedProject) -> PublishContext:
        """Return the context of a project; its secrets come from its own store only."""
        forge = self.forge(settings.name)
        source = self.source(settings, served, forge)
        secrets = Secrets(settings.state, environment={})
        return PublishContext(settings, source, self.plane, secrets, forge=forge)

    def forge(self, project: str) -> HostedForge | None:
        """Return the forge of a project; None without a credential for it."""
        server = self.plane.settings
        for binding in server.access.forges:
            if binding.project == project and binding.has_api:
                return open_forge(binding, Secrets(server.state), EgressPolicy(server.egress))
        return None

    def source(
        self, settings: ProjectSettings, served: ServedProject, forge: HostedForge | None
    ) -> RevisionSource:
        """Return the source of a project; a relative folder is next to the file."""
        address = Address.parse(served.repository)
        if address is None:
            folder = self.path.parent / served.repository
            return BranchSource(folder, served.branch, served.path)
        return RemoteSource(
            address, served.branch, settings.state / "mirror", path=served.path,
            every_seconds=self.options.every_seconds, version_tag=self.plane.settings.version_tag,
            authorize=make_authorize(forge) if forge is not None else None,
        )  # fmt: skip


class SettingsFollower(FileFollower):
    """Applies the file of a server with one repository in its command line: settings only."""

    form = LoneFile

    async def apply(self, new: ServerFile, projects: ServerProjects) -> SettingsApplied:  # noqa: ARG002 - it has one
        """Apply the settings."""
        self.file = new
        self.take_settings(new)
        await self.notify_plane(_arrangement({"": EVERYWHERE}, new))
        return SettingsApplied([], [], [], [])


def _arrangement(places: Mapping[str, ProjectPlace], file: ServerFile) -> Arrangement:
    egress = file.egress
    return Arrangement(
        places, tuple(file.proxies), tuple(egress.allow), tuple(egress.receivers),
        work_settings(file),
    )  # fmt: skip


def _compare(old: ServerFile, new: ServerFile) -> SettingsApplied:
    common = [name for name in new.projects if name in old.projects]
    return SettingsApplied(
        added=[name for name in new.projects if name not in old.projects],
        changed=[name for name in common if new.projects[name] != old.projects[name]],
        removed=[name for name in old.projects if name not in new.projects],
        diagnostics=[],
    )


def _follows_other(old: ServerFile, new: ServerFile, name: str) -> bool:
    before, after = old.projects[name], new.projects[name]
    keys = ("repository", "branch", "path", "forge")
    return any(getattr(before, key) != getattr(after, key) for key in keys)


def _as_json(diagnostics: Sequence[Diagnostic]) -> list[JsonDiagnostic]:
    return [JsonDiagnostic.of(diagnostic) for diagnostic in diagnostics]


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
