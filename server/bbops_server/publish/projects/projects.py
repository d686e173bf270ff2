"""The projects of a server: their loops, and the control plane's access to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.answers import DraftStatus, Publication, ServerStatus, Status
from bbops_server.process.host.files import record_schema
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.builds import WrittenContract, WrittenOutline
from bbops_server.process.messages.lifecycle import MetricSample
from bbops_server.process.webhooks.outbox import WebhookOutbox
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.processes.metrics import read_metrics
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.publish.projects.frontends import ProjectFrontends
from bbops_server.publish.projects.versions import ProjectVersions
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.stages.contracts import (
    live_source,
    read_file,
    write_contract,
    write_outline,
)
from bbops_server.publish.stages.file_storage import plan_live
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.events import ReportProject, ServerEvent
from bbops_server.publish.status.status import Stalled
from bbops_server.settings import ProjectSettings, WebhookEvent

if TYPE_CHECKING:
    from bbops_server.publish.pull_requests.following import PullFollower


RESTART_SECONDS = 5.0
"""The pause before a loop that failed unexpectedly is started again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    reconciler: Reconciler
    task: asyncio.Task[None]
    drafts: ProjectDrafts
    drafting: asyncio.Task[None]
    pulls: PullFollower | None = None
    pulling: asyncio.Task[None] | None = None

    @property
    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """The loops of the project."""
        return (self.task, self.drafting, *([self.pulling] if self.pulling is not None else ()))


class ServerProjects:
    """Starts, changes and ends the loops of projects. An error in a loop affects no other."""

    def __init__(
        self, report: ReportProject, work: Callable[[ServerProjects], Awaitable[None]]
    ) -> None:
        """`work` starts the projects, and runs until it is cancelled."""
        self.settings = ServerStatus()
        self.outbox: WebhookOutbox | None = None
        """Sends the server's webhooks."""
        self._report, self._work = report, work
        self._queued: list[tuple[str, ServerEvent]] | None = []
        self._entries: dict[str, _Entry] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self.started = asyncio.Event()
        """Set once the initial projects are known."""

    def announce(self, event: ServerEvent) -> None:
        """Report the first event, then all events since the start."""
        queued, self._queued = self._queued or [], None
        for name, queued_event in [("", event), *queued]:
            self._report(name, queued_event)

    def report(self, name: str, event: ServerEvent) -> None:
        """Report an event of a project, once the server was announced."""
        if self._queued is None:
            self._report(name, event)
        else:
            self._queued.append((name, event))

    def notify(self, reconciler: Reconciler, publication: Publication) -> None:
        """Notify the receivers of webhooks of an ended attempt."""
        event: WebhookEvent = "published" if publication.outcome == "live" else "stalled"
        self.notify_receivers(reconciler, event, msgspec.to_builtins(publication))

    def notify_receivers(
        self, reconciler: Reconciler, event: WebhookEvent, payload: Mapping[str, Any]
    ) -> None:
        """Send an event of a project to the receivers of webhooks."""
        if self.outbox is not None:
            board = reconciler.board
            self.outbox.enqueue(event, {"project": board.name, "url": board.url, **payload})

    def reconcilers(self) -> Iterator[Reconciler]:
        """Return the loop of every project."""
        return (entry.reconciler for entry in self._entries.values())

    # ---- for the control plane
    def server(self) -> ServerStatus:
        """Return the status of the server's own settings."""
        return self.settings

    def hooks(self) -> WebhookOutbox | None:
        """Return the server's webhooks; None while the server starts."""
        return self.outbox

    def projects(self) -> list[Status]:
        """Return the status of every project, sorted by name."""
        statuses = (reconciler.board.status() for reconciler in self.reconcilers())
        return sorted(statuses, key=lambda status: status.name)

    def reconcile(self, name: str, *, again: bool = False) -> datetime | None:
        """Request an attempt now; `again` publishes a live commit again.

        Returns:
            The time of the request, see `Status.handled_at`; None if the project does not exist.
        """
        reconciler = self._find(name)
        return reconciler.reconcile(again=again) if reconciler is not None else None

    def poll(self, name: str, *, lists_pulls: bool = True) -> bool:
        """Fetch a repository and its drafts now; False if the project does not exist.

        Args:
            name: the name of the project.
            lists_pulls: whether the list of its pull requests is read, too.
        """
        reconciler, drafts = self._find(name), self.drafts(name)
        if reconciler is None:
            return False
        reconciler.poll_now()
        if drafts is not None:
            drafts.refresh()
        if lists_pulls and (pulls := self.pulls(name)) is not None:
            pulls.refresh()
        return True

    def accept(self, name: str, commit: str, base: str, who: str) -> bool:
        """Accept a held commit; False if the project does not exist.

        `base` is the live commit if every commit since then is accepted; `who` is the e-mail
        address of the user.

        Raises:
            ServerError: no commit or another one is held.
        """
        reconciler = self._find(name)
        if reconciler is not None:
            reconciler.accept(commit, base, who)
        return reconciler is not None

    def recheck_decisions(self) -> None:
        """Check whether the users of earlier decisions may still make them."""
        for entry in self._entries.values():
            if entry.pulls is not None:
                entry.pulls.update()

    def history(self, name: str) -> Path | None:
        """Return the file of a project's request history; None if the project does not exist."""
        reconciler = self._find(name)
        return reconciler.context.history if reconciler is not None else None

    def drafts(self, name: str) -> ProjectDrafts | None:
        """Return a project's drafts; None if the project does not exist."""
        entries = self._entries.values()
        return next((each.drafts for each in entries if each.reconciler.board.name == name), None)

    def pulls(self, name: str) -> PullFollower | None:
        """Return a project's pull requests; None without a forge."""
        entries = self._entries.values()
        return next((each.pulls for each in entries if each.reconciler.board.name == name), None)

    def versions(self, name: str) -> ProjectVersions | None:
        """Return a project's history; None if the project does not exist."""
        reconciler = self._find(name)
        return ProjectVersions(reconciler) if reconciler is not None else None

    def frontends(self, name: str) -> ProjectFrontends | None:
        """Return a project's frontends; None if the project does not exist."""
        reconciler = self._find(name)
        return ProjectFrontends(reconciler) if reconciler is not None else None

    def client(self, name: str) -> ProjectClient | None:
        """Return the client for a project's processes; None if the project does not exist."""
        reconciler = self._find(name)
        if reconciler is None:
            return None
        return ProjectClient(reconciler.context.plane, reconciler.context.project.name)

    async def metrics(self) -> list[MetricSample]:
        """Return the metrics of all processes, with the names of projects."""
        reconcilers = {each.context.project.name: each for each in self.reconcilers()}
        planes = {id(each.context.plane): each.context.plane for each in reconcilers.values()}
        return [
            replace(sample, project=reconcilers[sample.project].board.name)
            for plane in planes.values() for sample in await read_metrics(plane)
            if sample.project in reconcilers
        ]  # fmt: skip

    async def contract(self, name: str, form: str) -> WrittenContract | None:
        """Return the contract of the live commit; None if the project does not exist.

        Raises:
            BbopsError: nothing is live, or the commit cannot be read.
        """
        reconciler = self._find(name)
        if reconciler is None:
            return None
        return await write_contract(reconciler.context, await _live_source(reconciler), form)

    async def outline(self, name: str) -> WrittenOutline | None:
        """Return the outline of the live commit; None if the project does not exist.

        Raises as `contract`.
        """
        reconciler = self._find(name)
        if reconciler is None:
            return None
        return await write_outline(reconciler.context, await _live_source(reconciler))

    async def read_file(self, name: str, path: str) -> str | None:
        """Return the text of a file of the live commit; None if it does not exist.

        Raises as `contract`.
        """
        reconciler = self._find(name)
        if reconciler is None:
            return None
        return await read_file(reconciler.context, await _live_source(reconciler), path)

    def find_values(self, name: str, variables: Sequence[str]) -> frozenset[str]:
        """Return the variables that have a value on this server, never the values."""
        reconciler = self._find(name)
        if reconciler is None:
            return frozenset()
        return reconciler.context.secrets.find_set(variables)

    async def plan_live(
        self, name: str, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
    ) -> dict[str, Any] | None:
        """Return the effect of other tables on the live data; None without such a project."""
        reconciler = self._find(name)
        return None if reconciler is None else await plan_live(reconciler.context, tables, env)

    def wake(self, draft: str) -> None:
        """Wake a draft for a request."""
        for entry in self._entries.values():
            if entry.drafts.wake(draft):
                return

    def fail(self, draft: str, reason: str) -> None:
        """Stall a draft whose process ended too often."""
        for entry in self._entries.values():
            if entry.drafts.fail(draft, reason):
                return

    # ---- loops
    async def run(self) -> None:
        """Run until cancelled; a publication that has begun to migrate is finished first."""
        try:
            await self._work(self)
        finally:
            entries = self._entries.values()
            tasks = [task for entry in entries for task in entry.tasks]
            for task in tasks:
                task.cancel()
            unfinished = filter(None, [entry.reconciler.finishing for entry in entries])
            await asyncio.gather(*tasks, *unfinished, return_exceptions=True)

    async def warm(self) -> None:
        """Link every live release in this server's processes, without changing anything else.

        Raises:
            ServerError: this server cannot serve a live release.
        """
        await self.started.wait()
        for reconciler in tuple(self.reconcilers()):
            try:
                await reconciler.warm()
            except (BbopsError, Stalled) as error:
                message = f"project '{reconciler.board.name}' cannot be served: {error.message}"
                raise ServerError(message, hint=error.hint) from None

    async def restored(self) -> None:
        """Return once every live release serves again, or cannot."""
        await self.started.wait()
        for reconciler in tuple(self.reconcilers()):
            await reconciler.restored.wait()

    def start(self, context: PublishContext) -> None:
        """Follow a project, after a previous loop of the same name has ended."""
        name = context.project.name
        reconciler = Reconciler(context, lambda event: self.report(name, event))
        reconciler.on_publication = lambda publication: self.notify(reconciler, publication)
        task = asyncio.create_task(self._run(reconciler, self._ending.get(name)))
        drafts = ProjectDrafts(
            context, lambda: reconciler.board.name,
            lambda event, payload: self.notify_receivers(reconciler, event, payload),
        )  # fmt: skip
        work = _run_once_owned(context, drafts.run) if context.mode == "serve" else asyncio.sleep(0)
        context.plane.wake, context.plane.awake.on_failure = self.wake, self.fail
        pulls = pulling = None
        if context.forge is not None and isinstance(context.source, RemoteSource):
            from bbops_server.publish.pull_requests.following import (  # noqa: PLC0415 - git
                PullFollower,
            )

            pulls = PullFollower(context.forge, context.source, reconciler, drafts)
            pulling = asyncio.create_task(_run_once_owned(context, pulls.run))
        drafting = asyncio.create_task(work)
        self._entries[name] = _Entry(reconciler, task, drafts, drafting, pulls, pulling)

    def move(self, project: ProjectSettings) -> None:
        """Change a project's addresses."""
        entry = self._entries[project.name]
        entry.reconciler.move(project)
        entry.drafts.move(project)

    def end(self, name: str) -> None:
        """Stop following a project; a publication that has begun to migrate is finished first."""
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
                Secrets.open(project.state)  # creates the folder
                record_schema(project.state, project.schema)
                await reconciler.run()
            except BbopsError as error:
                stalled = Stalled("StateNotWritable", error.message, error.hint, is_passing=True)
                reconciler.stall(stalled)
            except Exception as error:  # noqa: BLE001 - the other projects keep serving
                _log.exception("the loop of project '%s' failed", reconciler.board.name)
                message = f"unexpected {type(error).__name__}"
                reconciler.stall(Stalled("InternalError", message, is_passing=True))
            reconciler.restored.set()
            await asyncio.sleep(RESTART_SECONDS)

    def _find(self, name: str) -> Reconciler | None:
        return next((each for each in self.reconcilers() if each.board.name == name), None)

    def _forget(self, name: str, done: asyncio.Task[None]) -> None:
        if self._ending.get(name) is done:
            del self._ending[name]


async def _run_once_owned(context: PublishContext, run: Callable[[], Awaitable[None]]) -> None:
    """Run a loop once this server owns the state folder."""
    await context.plane.owned.wait()
    await run()


async def _live_source(reconciler: Reconciler) -> dict[str, Any]:
    build = reconciler.context.plane.build
    return await live_source(reconciler.source, reconciler.board.applied, build)


async def _end(entry: _Entry, before: asyncio.Task[None] | None) -> None:
    entry.reconciler.report = lambda _: None  # events of an ended loop are dropped
    for task in entry.tasks:
        task.cancel()
    unfinished = entry.reconciler.finishing
    await asyncio.wait({*entry.tasks, *filter(None, [before, unfinished])})


# ---- drafts that serve a commit

WAKING_SECONDS: Final = 30.0


async def wait_until_ready(drafts: ProjectDrafts, branch: str, head: str) -> DraftStatus:
    """Return the draft of a branch once it serves a commit.

    Raises:
        ServerError: the commit has errors, or the draft is not ready in time.
    """
    drafts.prepare(branch)

    def is_over() -> bool:
        draft = drafts.find(branch)
        return serves_commit(draft, head) or _is_stalled(draft, head)

    await drafts.changed.wait(is_over, WAKING_SECONDS)
    draft = drafts.find(branch)
    if draft is not None and serves_commit(draft, head):
        return draft
    if draft is not None and _is_stalled(draft, head):
        raise ServerError(f"the draft does not work: {draft.message}")
    raise ServerError("the draft is not ready in time; try again in a moment")


def _is_stalled(draft: DraftStatus | None, head: str) -> bool:
    return draft is not None and draft.state == "stalled" and draft.commit == head


def serves_commit(draft: DraftStatus | None, head: str) -> bool:
    """Return whether a draft serves a commit."""
    if draft is None or draft.commit != head or not draft.release:
        return False
    return head.startswith(draft.release)  # a release's name is a prefix of its commit
