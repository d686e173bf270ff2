"""The projects of a server: one loop each, and what the control plane asks about all of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.answers import Publication, ServerStatus, Status
from bbops_server.process.host.files import record_schema
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.lifecycle import MetricSample
from bbops_server.process.webhooks.outbox import WebhookOutbox
from bbops_server.publish.drafts.drafts import Drafts
from bbops_server.publish.processes.metrics import read_metrics
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.publish.projects.frontends import Frontends
from bbops_server.publish.projects.versions import Versions
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.stages.contracts import live_source, write_contract
from bbops_server.publish.stages.impact import weigh
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.events import Event, Tell
from bbops_server.publish.status.status import Stalled, Written
from bbops_server.settings import ProjectSettings, WebhookEvent

RESTART_SECONDS = 5.0
"""How long a loop that failed, which is a mistake of ours, waits before it starts again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    reconciler: Reconciler
    task: asyncio.Task[None]
    drafts: Drafts
    drafting: asyncio.Task[None]


class Projects:
    """Starts, changes and ends the loops. What happens to one of them is nothing to the others."""

    def __init__(self, tell: Tell, work: Callable[[Projects], Awaitable[None]]) -> None:
        """`work` starts them, and goes on until it is cancelled."""
        self.settings = ServerStatus()
        self.outbox: WebhookOutbox | None = None
        """Who else is told what happens."""
        self._tell, self._work = tell, work
        self._held: list[tuple[str, Event]] | None = []
        self._entries: dict[str, _Entry] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self.begun = asyncio.Event()
        """Set once the projects that the server starts with are known."""

    def announce(self, event: Event) -> None:
        """Tell what comes before all else, then what has happened since."""
        held, self._held = self._held or [], None
        for name, one in [("", event), *held]:
            self._tell(name, one)

    def tell(self, name: str, event: Event) -> None:
        """Tell what happened to a project, once the server was announced."""
        if self._held is None:
            self._tell(name, event)
        else:
            self._held.append((name, event))

    def notify(self, reconciler: Reconciler, publication: Publication) -> None:
        """Let the receivers of webhooks know of an attempt that ended."""
        event: WebhookEvent = "published" if publication.outcome == "live" else "stalled"
        self.inform(reconciler, event, msgspec.to_builtins(publication))

    def inform(self, reconciler: Reconciler, event: WebhookEvent, told: Mapping[str, Any]) -> None:
        """Let the receivers of webhooks know what happened to a project."""
        if self.outbox is not None:
            board = reconciler.board
            self.outbox.enqueue(event, {"project": board.name, "url": board.url, **told})

    def reconcilers(self) -> Iterator[Reconciler]:
        """Return the loop of every project."""
        return (entry.reconciler for entry in self._entries.values())

    # ---- StatusSource, for the control plane
    def server(self) -> ServerStatus:
        """Return the status of the server's own settings."""
        return self.settings

    def hooks(self) -> WebhookOutbox | None:
        """Return what webhooks are sent; None of a server that is just starting."""
        return self.outbox

    def projects(self) -> list[Status]:
        """Return the status of every project, in the order of their names."""
        return sorted(
            (one.board.status() for one in self.reconcilers()), key=lambda found: found.name
        )

    def reconcile(self, name: str, *, again: bool = False) -> datetime | None:
        """Request an attempt; arguments and answer as of `StatusSource.reconcile`."""
        found = self._find(name)
        return found.reconcile(again=again) if found is not None else None

    def accept(self, name: str, commit: str, base: str = "") -> bool:
        """Let a held commit be served; False when no project has that name."""
        found = self._find(name)
        if found is not None:
            found.accept(commit, base)
        return found is not None

    def history(self, name: str) -> Path | None:
        """Return where a project's requests are remembered."""
        found = self._find(name)
        return found.context.history if found is not None else None

    def drafts(self, name: str) -> Drafts | None:
        """Return the drafts of a project; None when no project has that name."""
        entries = self._entries.values()
        return next((one.drafts for one in entries if one.reconciler.board.name == name), None)

    def versions(self, name: str) -> Versions | None:
        """Return the history of a project; None when no project has that name."""
        found = self._find(name)
        return Versions(found) if found is not None else None

    def frontends(self, name: str) -> Frontends | None:
        """Return the frontends of a project; None when no project has that name."""
        found = self._find(name)
        return Frontends(found) if found is not None else None

    def client(self, name: str) -> ProjectClient | None:
        """Return the client for a project's processes; None if the project does not exist."""
        found = self._find(name)
        return ProjectClient(found.context.plane, found.context.project.name) if found else None

    async def metrics(self) -> list[MetricSample]:
        """Return what processes have counted, by the names of projects."""
        found = {one.context.project.name: one for one in self.reconcilers()}
        planes = {id(one.context.plane): one.context.plane for one in found.values()}
        return [
            replace(sample, project=found[sample.project].board.name)
            for plane in planes.values() for sample in await read_metrics(plane)
            if sample.project in found
        ]  # fmt: skip

    async def contract(self, name: str, form: str) -> Written | None:
        """Return what the live commit publishes; None when no project has that name."""
        found = self._find(name)
        if found is None:
            return None
        build = found.context.plane.build
        source = await live_source(found.source, found.board.applied, build)
        return await write_contract(found.context, source, form)

    async def weigh(
        self, name: str, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
    ) -> dict[str, Any] | None:
        """Return what other tables would do to the live data; None when no project has the name."""
        found = self._find(name)
        return None if found is None else await weigh(found.context, tables, env)

    def wake(self, draft: str) -> None:
        """Let a draft answer that was asked for."""
        for entry in self._entries.values():
            if entry.drafts.wake(draft):
                return

    def fail(self, draft: str, reason: str) -> None:
        """Tell a draft as failed whose process ended too often."""
        for entry in self._entries.values():
            if entry.drafts.fail(draft, reason):
                return

    # ---- their loops
    async def run(self) -> None:
        """Work until cancelled; a publication that has begun to migrate is finished first."""
        try:
            await self._work(self)
        finally:
            entries = self._entries.values()
            tasks = [task for one in entries for task in (one.task, one.drafting)]
            for task in tasks:
                task.cancel()
            unfinished = filter(None, [one.reconciler.finishing for one in entries])
            await asyncio.gather(*tasks, *unfinished, return_exceptions=True)

    async def warm(self) -> None:
        """Link what is live of every project, so that it can answer here; changes nothing else.

        Raises:
            ServerError: this server cannot serve one of them as it is served now.
        """
        await self.begun.wait()
        for one in tuple(self.reconcilers()):
            try:
                await one.warm()
            except (BbopsError, Stalled) as error:
                raise ServerError(
                    f"project '{one.board.name}' cannot be served: {error.message}", hint=error.hint
                ) from None

    async def restored(self) -> None:
        """Return once what was live before answers, or cannot."""
        await self.begun.wait()
        for one in tuple(self.reconcilers()):
            await one.restored.wait()

    def start(self, context: PublishContext) -> None:
        """Follow a project; a loop of the same name that still ends is waited for."""
        name = context.project.name
        reconciler = Reconciler(context, lambda event: self.tell(name, event))
        reconciler.ended = lambda publication: self.notify(reconciler, publication)
        task = asyncio.create_task(self._run(reconciler, self._ending.get(name)))
        drafts = Drafts(context, lambda event, told: self.inform(reconciler, event, told))
        work = self._follow_drafts(drafts) if context.mode == "serve" else asyncio.sleep(0)
        context.plane.wake, context.plane.awake.failed = self.wake, self.fail
        self._entries[name] = _Entry(reconciler, task, drafts, asyncio.create_task(work))

    async def _follow_drafts(self, drafts: Drafts) -> None:
        await drafts.context.plane.owned.wait()
        await drafts.run()

    def move(self, project: ProjectSettings) -> None:
        """Take over where a project answers from now on."""
        entry = self._entries[project.name]
        entry.reconciler.move(project)
        entry.drafts.move(project)

    def end(self, name: str) -> None:
        """Follow a project no more; a publication that has begun to migrate is finished first."""
        entry = self._entries.pop(name)
        task = self._ending[name] = asyncio.create_task(_end(entry, self._ending.get(name)))
        task.add_done_callback(lambda done: self._forget(name, done))

    async def _run(self, reconciler: Reconciler, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        await reconciler.context.plane.owned.wait()
        while True:
            project = reconciler.context.project
            try:
                Secrets.open(project.state)  # makes the folder
                record_schema(project.state, project.schema)
                await reconciler.run()
            except BbopsError as error:
                stalled = Stalled("StateNotWritable", error.message, error.hint, is_passing=True)
                reconciler.stall(stalled)
            except Exception as error:  # noqa: BLE001 - the others serve on
                _log.exception("the loop of project '%s' failed", reconciler.board.name)
                message = f"unexpected {type(error).__name__}"
                reconciler.stall(Stalled("InternalError", message, is_passing=True))
            reconciler.restored.set()
            await asyncio.sleep(RESTART_SECONDS)

    def _find(self, name: str) -> Reconciler | None:
        return next((one for one in self.reconcilers() if one.board.name == name), None)

    def _forget(self, name: str, done: asyncio.Task[None]) -> None:
        if self._ending.get(name) is done:
            del self._ending[name]


async def _end(entry: _Entry, before: asyncio.Task[None] | None) -> None:
    entry.reconciler.report = lambda _: None  # nobody asks about it any more
    entry.task.cancel()
    entry.drafting.cancel()
    unfinished = entry.reconciler.finishing
    await asyncio.wait({entry.task, entry.drafting, *filter(None, [before, unfinished])})
