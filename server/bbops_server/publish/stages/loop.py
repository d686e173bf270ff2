"""The loop of a project: follow a source, publish its newest commit, retry.

A failure never affects the live release.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

from bbops.base.errors import BbopsError, GitError
from bbops.interfaces.answers import Publication
from bbops_server.publish.holds.approvals import stamp_approvals
from bbops_server.publish.holds.freezing import exempt, find_freeze, hold_frozen
from bbops_server.publish.holds.held import accept, as_stalled, read_suspension, stamp_suspension
from bbops_server.publish.holds.reviews import warn_of_reviews
from bbops_server.publish.holds.unchanged import (
    StampedPublication,
    find_own_revision,
    missing_branch,
    stamp_publication,
)
from bbops_server.publish.processes.draft_build import DraftTooLong
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_live, read_record, record
from bbops_server.publish.sources.values import (
    BuiltRevision,
    FetchedRevision,
    LinkedRevision,
    MigratedRevision,
    RehearsedRevision,
)
from bbops_server.publish.stages.failed_migration import clear_failed_migration
from bbops_server.publish.stages.narrowing import Narrowing
from bbops_server.publish.stages.stages import (
    BUILD,
    CHANGE,
    RELINK,
    REVIEW,
    PublishStage,
    rehearsal,
)
from bbops_server.publish.stages.tagging import serve_artifact, summarize, tag, tag_restored, warm
from bbops_server.publish.status.events import ReleasePublished, Report, SourceRecovered
from bbops_server.publish.status.publications import add_publication, read_publications
from bbops_server.publish.status.status import Stalled, StatusBoard, now
from bbops_server.settings import ProjectSettings
from bbops_server.settings.freezes import Frozen

Stamp = tuple[object, tuple[object, ...]]
"""Stamps of the source, and of env values, approvals and suspensions, in this order."""

_NO_STAMP = object()


class Reconciler:
    """Watches one source. The newest commit always wins; a failing one never blocks the fix."""

    def __init__(self, context: PublishContext, report: Report) -> None:
        project, source = context.project, context.source
        self.context, self.source, self.report = context, source, report
        self.board = StatusBoard(project.name, source.name, context.url, project.branch)
        self.board.on_publication = self.record_publication
        self.on_publication: Callable[[Publication], None] = lambda _: None
        """Called once for each attempt that has ended."""
        self.poll_requested, self.is_forced, self.requests = asyncio.Event(), False, PollRequests()
        self.restored = asyncio.Event()
        """Set once the last live release serves again, or cannot."""
        self.warmed: object = None
        self.last_stamp: object = _NO_STAMP
        self.backoff = Backoff()
        self.finishing: asyncio.Task[None] | None = None
        self.newest: ReleasePublished | None = None
        self.settled: StampedPublication | None = None
        """The last publication since the start, unless it stalled."""
        self.live: LinkedRevision | None = None
        """The record of `settled`."""
        self.frozen: Frozen | None = None
        """The freeze that the newest commit may have to wait for."""
        live = read_record(context)
        self.review: Mapping[str, Any] = live.review if live is not None else {}
        """The rules of review of the live release, served or not; empty before the first one."""
        self.narrowing = Narrowing(
            lambda: self.context,
            self.board,
            lambda event: self.report(event),  # noqa: PLW0108 - it may be replaced
        )
        self.rehearsal = rehearsal(self.narrowing.finish)

    def poll_now(self) -> datetime:
        """Request a poll now; a live release stays, and a stalled attempt is retried.

        For callers that have moved a branch: an attempt that has started meanwhile is not repeated.
        Returns the time of the request; `board.handled_at` reaches it once the poll is done.
        """
        self.source.refresh()
        self.poll_requested.set()
        return self.requests.add()

    def reconcile(self, *, again: bool = True) -> datetime:
        """Poll, and retry a failed migration; `again` publishes a live commit again."""
        clear_failed_migration(self.context)
        self.is_forced |= again
        return self.poll_now()

    def record_publication(self, publication: Publication) -> None:
        """Record an attempt that has ended, and notify the callback."""
        add_publication(self.context.project.state, publication)
        self.on_publication(publication)

    def accept(self, commit: str, base: str, who: str) -> None:
        """Accept a commit on hold. Arguments and errors as of `held.accept`."""
        accept(
            self.board.stalled, commit, self.context, base=base, who=who, project=self.board.name
        )
        self.poll_requested.set()

    def exempt(self, who: str, account: str) -> str:
        """Exempt the newest revision from a freeze; return it.

        Arguments and errors as of `freezing.exempt`.
        """
        exempt(
            self.board.attempted, self.context, who=who, account=account, project=self.board.name
        )
        self.poll_requested.set()
        return self.board.attempted or ""

    def move(self, project: ProjectSettings) -> None:
        """Change the project's addresses; the source stays the same."""
        self.context = replace(self.context, project=project)
        self.board.url = self.context.url

    async def run(self) -> None:
        """Serve the last good release, then follow the source until cancelled."""
        await self.restore()
        self.restored.set()
        await self.context.plane.alone.wait()
        tried: object = None
        try:
            while True:
                stamp = await self.stamp()
                if stamp is not None and stamp != tried:
                    requested_at = self.requests.polled_at
                    tried = await self.attempt(stamp)
                    if tried is not None:
                        self.board.handled_at = requested_at
                else:
                    tried = await self.wait(tried)
        finally:
            self.narrowing.stop()

    async def wait(self, tried: object) -> object:
        """Sleep until the next poll; return None to make it an attempt."""
        until = self.backoff.retry_at(self.board.stalled)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.source.poll_seconds):
                    await self.poll_requested.wait()
                self.poll_requested.clear()
                self.backoff.retries = 0
                if self.is_forced or self.board.stalled is not None:
                    return None
            if self.is_frozen and find_freeze(self.context) != self.frozen:
                return None
            if until is not None and perf_counter() > until:
                self.backoff.retries += 1
                return None
            if await self.stamp() not in (tried, None):
                self.backoff.retries = 0
                return tried
            if self.board.stalled is None and not self.is_forced:
                self.board.handled_at = self.requests.polled_at

    @property
    def is_frozen(self) -> bool:
        """Whether the newest commit waits for the end of a freeze."""
        return self.board.stalled is not None and self.board.stalled.reason == "Frozen"

    async def stamp(self) -> Stamp | None:
        """Return the stamps of the source and of local decisions; each may change often.

        While the source is unreachable, its last stamp is returned; None if it has none.
        """
        self.source.has_own_frontends = self.review.get("main") == "proposals"
        requested_at = self.requests.newest
        try:
            self.last_stamp = await self.source.stamp(self.context.plane.build)
        except Stalled as stalled:
            if self.board.source_lost(stalled):
                self.report(stalled)
        else:
            if self.board.source_found():
                self.report(SourceRecovered(self.source.shown))
            self.board.refuse_frontend(self.source.frontend_error)
        self.requests.polled_at = requested_at
        if self.last_stamp is _NO_STAMP:
            return None
        state = self.context.project.state
        local = self.context.secrets.stamp(), stamp_approvals(state), stamp_suspension(state)
        return self.last_stamp, local

    async def warm(self) -> None:
        """Link the live release in this server's processes, without changing anything else.

        Raises:
            BbopsError, Stalled: this server cannot serve it.
        """
        data, stamp = await read_live(self.context), self.context.secrets.stamp()
        if data is not None and self.warmed != (data.artifact, stamp):
            await warm(data.as_built(), self.context)
            self.warmed = data.artifact, stamp

    async def restore(self) -> None:
        """Serve what was live before the restart, from its artifact alone."""
        self.board.publications.extend(read_publications(self.context.project.state, 10))
        with contextlib.suppress(OSError, KeyError, ValueError, BbopsError, Stalled):
            data = await read_live(self.context)
            if data is None:
                return
            self.review, built = data.review, data.as_built()  # before it is served, which may fail
            if not self.context.plane.is_live(self.context.project.name):
                await serve_artifact(built, self.context)
            warn_of_reviews(data, self.context)
            version = data.version or await tag_restored(built, self.context)
            self.board.restored(data.project, data.revision, built.release, version)

    async def attempt(self, stamp: Stamp) -> object:
        """Attempt to publish the newest revision of the source.

        Returns:
            The stamp of the attempt; None if it yielded to a newer one.
        """
        began = perf_counter()
        if self.is_forced:
            self.is_forced, self.settled = False, None
        try:
            if (
                self.settled is not None
                and self.live is not None
                and self.settled.differs_in_env(stamp)
            ):
                await self.shield(self.relink(self.live, began))
                if self.board.stalled is None:
                    self.settled = stamp_publication(self.live, *stamp)
                return stamp
            built = await self.build(await self.begin())
            if self.is_unchanged(built, stamp):
                return stamp
            rehearsed = await self.run_unless_newer(self.run_stages(self.rehearsal, built), stamp)
            if rehearsed is None:
                return None
            newest = await self.stamp()
            if newest is None or self.yields_to(newest, stamp):
                return None
            self.backoff.yields = 0
            stamp = (stamp[0], newest[1])  # `generate` may have added an env value
            self.settled = None
            await self.shield(self.finish(rehearsed, began))
            if self.board.stalled is None:
                self.settled = stamp_publication(rehearsed, *stamp)
        except Stalled as stalled:
            await self.refuse(stalled)
        except DraftTooLong as error:
            await self.refuse(Stalled("DraftTooLong", error.message, error.hint))
        except GitError as error:
            await self.refuse(Stalled("GitFailed", error.message, error.hint, is_passing=True))
        except BbopsError as error:
            await self.refuse(Stalled("Failed", error.message, error.hint, is_passing=True))
        except Exception as error:  # noqa: BLE001 - the last release keeps serving in any case
            message = f"unexpected {type(error).__name__}"
            await self.refuse(Stalled("InternalError", message, is_passing=True))
        return stamp

    async def run_unless_newer(
        self, work: Coroutine[Any, Any, RehearsedRevision], stamp: Stamp
    ) -> RehearsedRevision | None:
        """Run long work; cancel it and return None if a newer commit arrives."""
        working = asyncio.create_task(work)
        try:
            while not working.done():
                await asyncio.wait({working}, timeout=self.source.poll_seconds)
                newest = None if working.done() else await self.stamp()
                if newest is not None and self.yields_to(newest, stamp):
                    return None
            return await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def is_unchanged(self, built: BuiltRevision, stamp: Stamp) -> bool:
        """Return whether a build equals the live release, and record that in the status.

        For example, the newest commit is about other projects, or git has packed its references.
        """
        is_live = bool(built.commit) and built.revision == self.board.applied
        current = stamp_publication(built, *stamp)
        if not is_live or self.settled is None or not self.settled.covers(current):
            return False
        self.settled = current
        self.board.keep_live()
        return True

    def yields_to(self, newest: Stamp, stamp: Stamp) -> bool:
        """Return whether an attempt yields to a newer stamp of the source."""
        return newest[0] != stamp[0] and self.backoff.yield_to_newer()

    async def shield(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work to its end, even if the loop is cancelled meanwhile."""
        self.finishing = asyncio.create_task(work)
        await asyncio.shield(self.finishing)

    async def run_stages(self, stages: Iterable[PublishStage], record: Any) -> Any:
        """Return the record of the last stage; the status shows the running one."""
        for stage in stages:
            self.board.progress(stage.reason)
            record = await stage.run(record, self.context)
        return record

    async def finish(self, rehearsed: RehearsedRevision, began: float) -> None:
        """Publish a rehearsed release: migrate, swap, tag and record it."""
        at = self.context
        planning = asyncio.create_task(summarize(rehearsed, at, self.board.applied))
        try:
            migrated: MigratedRevision = await self.run_stages(CHANGE, rehearsed)
            version = await tag(migrated, at, plan=await planning, changes=migrated.changes)
        finally:
            planning.cancel()
        unrecorded = await self.publish(migrated, version, began)
        self.board.hide(migrated.plan.hidden)
        if migrated.leaves_work:
            self.narrowing.start()
        if unrecorded is not None:
            await self.refuse(unrecorded)

    async def relink(self, live: LinkedRevision, began: float) -> None:
        """Publish the live release again, with changed env values."""
        self.board.begin(live.revision)
        self.board.subject, self.board.author = live.facts.subject, live.facts.author
        linked: LinkedRevision = await self.run_stages(RELINK, live)
        unrecorded = await self.publish(linked.with_changes([]), self.board.version, began)
        if unrecorded is not None:
            await self.refuse(unrecorded)

    async def begin(self) -> FetchedRevision:
        newest = await self.source.revision(self.context.plane.build)
        if newest is None:
            raise missing_branch(self.context, self.board.applied)
        self.board.begin(newest.revision)
        suspension = read_suspension(self.context.project.state)
        if suspension is not None:
            raise as_stalled(suspension, self.context.project.name)
        own = await find_own_revision(newest, self.context)
        self.frozen = find_freeze(self.context)
        await asyncio.to_thread(
            hold_frozen, own.revision, self.board.applied, self.context
        )  # fmt: skip
        return own

    async def build(self, fetched: FetchedRevision) -> BuiltRevision:
        """Build an artifact, and hold it if a maintainer has to decide first."""
        self.board.subject = self.board.author = ""
        built: BuiltRevision = await self.run_stages(BUILD, fetched)
        self.board.subject, self.board.author = built.facts.subject, built.facts.author
        if built.facts.ok:
            self.board.warn(built.facts.diagnostics)
        reviewed: BuiltRevision = await self.run_stages(REVIEW, built)
        return reviewed

    async def publish(
        self, migrated: MigratedRevision, version: str, began: float
    ) -> Stalled | None:
        """Record and report a release that has gone live; return why recording failed."""
        unrecorded: Stalled | None = None
        try:
            await record(migrated, version, self.context)
            self.backoff.retries = 0
        except Stalled as stalled:  # the release is live in any case
            unrecorded = stalled
        facts, milliseconds = migrated.facts, 1000 * (perf_counter() - began)
        self.review, self.live = facts.review, migrated
        self.newest = ReleasePublished(
            migrated.revision, migrated.release, facts.subject, migrated.changes,
            facts.compiled, milliseconds, self.context.url, facts.diagnostics, version,
        )  # fmt: skip
        publication = Publication(
            migrated.revision, now(), "live", round(milliseconds, 1), version,
            facts.author, facts.subject, migrated.changes,
        )  # fmt: skip
        self.board.publish(facts.project, migrated.release, publication)
        self.report(self.newest)
        return unrecorded

    async def refuse(self, stalled: Stalled) -> None:
        """Record why an attempt stalled; in `dev` and drafts, routes respond with it, too."""
        self.stall(stalled)
        if self.context.exposes_errors:
            diagnostics = stalled.diagnostics or [stalled.as_diagnostic()]
            await self.context.plane.refuse(diagnostics, self.context.project.name)

    def stall(self, stalled: Stalled) -> None:
        if self.board.stall(stalled):
            self.report(stalled)


MAX_YIELDS = 2
"""Attempts in a row that yield to a newer commit, so that frequent commits do not starve."""

RETRY_SECONDS, LONGEST_RETRY_SECONDS = 5.0, 300.0
"""The pause before a stalled attempt is retried, if a retry may succeed without a new commit.

Each further failure doubles the pause, up to the longest.
"""


class Backoff:
    """Counts retries in a row, and attempts in a row that yielded to a newer commit."""

    def __init__(self) -> None:
        self.retries = 0
        self.yields = 0

    def retry_at(self, stalled: Stalled | None) -> float | None:
        """Return the `perf_counter` time of the next retry; None if only a change can help."""
        if stalled is None or not stalled.is_passing:
            return None
        pause = RETRY_SECONDS * 2.0 ** min(self.retries, 30)
        return perf_counter() + max(min(pause, LONGEST_RETRY_SECONDS), stalled.wait_seconds)

    def yield_to_newer(self) -> bool:
        """Return whether an attempt yields to a newer commit, and count it; False after two."""
        is_yielding = self.yields < MAX_YIELDS
        self.yields += is_yielding
        return is_yielding


class PollRequests:
    """The times of poll requests.

    Attributes:
        newest: the time of the newest request.
        polled_at: the time of the newest request before the last poll.
    """

    def __init__(self) -> None:
        self.newest = self.polled_at = now()

    def add(self) -> datetime:
        """Return the time of a new request, later than all before, even if a clock is set back."""
        self.newest = max(now(), self.newest + timedelta.resolution)
        return self.newest
