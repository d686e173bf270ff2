"""Follow a server's file: what changes in it is in force within a second, or refused whole.

Projects come, go and move while the others serve on, and no request is dropped.
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
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.projects import EVERYWHERE, ProjectPlace
from bbops_server.publish.processes.arrangement import Arrangement
from bbops_server.publish.processes.plane import Plane
from bbops_server.publish.projects.projects import Projects
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.sources import BranchSource, Source
from bbops_server.publish.status.events import Applied, Refused
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

LOOK_SECONDS = 0.25
"""A change is read once the file has stayed the same for so long: an editor may still write it."""

_log = logging.getLogger(__name__)

_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says: `given` settings come before the file's."""

    path: Path
    every_seconds: float
    given: Mapping[str, Any]


class FollowedFile:
    """A server's file, what of it is in force, and the way from there to what it says now."""

    form: ClassVar[type[ServerFile]] = ServerFile

    def __init__(self, options: Options, first: ServerFile, plane: Plane) -> None:
        self.options, self.first, self.plane = options, first, plane
        self.path = options.path
        self.file = ServerFile(projects={})
        self.asked = asyncio.Event()

    async def run(self, projects: Projects) -> None:
        """Keep the projects as the file says until cancelled. SIGHUP makes it look at once."""
        await self.begin(projects)
        projects.begun.set()
        await self.plane.owned.wait()
        await self.follow(projects)

    async def begin(self, projects: Projects) -> None:
        """Put in force what the file said when the server was started."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.asked.set)
        projects.settings = ServerStatus(str(self.path))
        await self.apply(self.first, projects)

    async def follow(self, projects: Projects) -> None:
        """Put each change in force until cancelled."""
        seen: _Stamp = (
            None  # so that it is read once more: it may have changed since the first time
        )
        while True:
            seen = await self.wait(seen)
            try:
                await self.take(await asyncio.to_thread(self.read), projects)
            except Exception:  # noqa: BLE001 - the projects serve on
                _log.exception("a change of '%s' failed; the live releases keep serving", self.path)

    def read(self) -> Read:
        """Read what the file says now."""
        return read_file(self.path, form=self.form)

    async def wait(self, seen: _Stamp) -> _Stamp:
        """Return the file's stamp once it is another one, and for a moment the same."""
        last = seen
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self.asked.wait()
                self.asked.clear()
                return _stamp(self.path)
            now = _stamp(self.path)
            if now == last != seen:
                return now
            last = now

    async def take(self, read: Read, projects: Projects) -> None:
        """Put what was read in force, or say why not."""
        if read.file is None or read.document is None:
            told = _told(read.diagnostics)
            if told != projects.settings.diagnostics:
                projects.settings = ServerStatus(str(self.path), told)
                projects.tell("", Refused(told))
            return
        warnings = find_restarts(
            self.path.name, read.document, self.first, read.file, self.options.given
        )
        told = _told([*read.diagnostics, *warnings])
        is_new = told != projects.settings.diagnostics or read.file != self.file
        projects.settings = ServerStatus(str(self.path), told)
        changes = await self.apply(read.file, projects)
        if is_new:
            projects.tell("", replace(changes, diagnostics=told))

    async def apply(self, new: ServerFile, projects: Projects) -> Applied:
        """Change what is in force into `new`; return the names of what that touched."""
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
        """Tell people the addresses that the file names, let in whom it says, freeze, and tell."""
        data = new.urls.data or ""
        control = self.options.given.get("control_shown") or new.urls.control or ""
        self.plane.settings = replace(
            self.plane.settings, data_shown=data, control_shown=control,
            access=access_settings(new), freezes=freeze_settings(new),
            drafts=draft_settings(new),
            egress=tuple(new.egress.allow), reads_clients=new.egress.client_documents,
            webhooks=webhook_settings(new), version_tag=new.version_tag,
        )  # fmt: skip

    async def arrange(self, new: ServerFile, settings: Mapping[str, ProjectSettings]) -> None:
        """Let the projects answer where the file says."""
        places = {
            name: ProjectPlace(one.hosts, one.prefix, (one.state / "publication.json").exists())
            for name, one in settings.items()
        }
        await self.notify_plane(_arrangement(places, new))

    async def notify_plane(self, arrangement: Arrangement) -> None:
        """Let the data processes know; one that does not answer is told when it does."""
        try:
            await self.plane.arrange(arrangement)
        except BbopsError as error:
            _log.error("a process was not notified of a change of '%s': %s", self.path, error)

    def context(self, settings: ProjectSettings, served: ServedProject) -> PublishContext:
        """Return what a project's loop works with; its secrets come from its own store alone."""
        source = self.source(settings, served)
        return PublishContext(settings, source, self.plane, Secrets(settings.state, environment={}))

    def source(self, settings: ProjectSettings, served: ServedProject) -> Source:
        """Return what a project follows; a folder is looked for beside the file."""
        address = Address.parse(served.repository)
        if address is None:
            folder = self.path.parent / served.repository
            return BranchSource(folder, served.branch, served.path)
        return RemoteSource(
            address, served.branch, settings.state / "mirror", path=served.path,
            every_seconds=self.options.every_seconds, version_tag=self.plane.settings.version_tag,
        )  # fmt: skip


class FollowedSettings(FollowedFile):
    """The file of a server whose command line names its one repository: settings alone."""

    form = LoneFile

    async def apply(self, new: ServerFile, projects: Projects) -> Applied:  # noqa: ARG002 - it has one
        """Put the settings in force."""
        self.file = new
        self.take_settings(new)
        await self.notify_plane(_arrangement({"": EVERYWHERE}, new))
        return Applied([], [], [], [])


def _arrangement(places: Mapping[str, ProjectPlace], file: ServerFile) -> Arrangement:
    egress = file.egress
    return Arrangement(
        places, tuple(file.proxies), tuple(egress.allow), tuple(egress.receivers),
        work_settings(file),
    )  # fmt: skip


def _compare(old: ServerFile, new: ServerFile) -> Applied:
    kept = [name for name in new.projects if name in old.projects]
    return Applied(
        added=[name for name in new.projects if name not in old.projects],
        changed=[name for name in kept if new.projects[name] != old.projects[name]],
        removed=[name for name in old.projects if name not in new.projects],
        diagnostics=[],
    )


def _follows_other(old: ServerFile, new: ServerFile, name: str) -> bool:
    one, other = old.projects[name], new.projects[name]
    return any(getattr(one, key) != getattr(other, key) for key in ("repository", "branch", "path"))


def _told(diagnostics: Sequence[Diagnostic]) -> list[JsonDiagnostic]:
    return [JsonDiagnostic.of(one) for one in diagnostics]


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
