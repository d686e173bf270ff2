"""Follow a source and publish its newest commit. A failure never affects the live release."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from time import perf_counter
from typing import Any

from bbops.base.errors import BbopsError, GitError
from bbops.interfaces.answers import Publication
from bbops_server.publish.holds.approvals import stamp_approvals
from bbops_server.publish.holds.freezing import exempt, find_freeze, hold_frozen
from bbops_server.publish.holds.held import accept
from bbops_server.publish.holds.reviews import warn_of_reviews
from bbops_server.publish.holds.rewritten import missing_branch
from bbops_server.publish.holds.suspension import read_suspension, stalled_by, stamp_suspension
from bbops_server.publish.holds.unchanged import Settled, find_own, settle
from bbops_server.publish.processes.draft_build import DraftTooLong
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_live, read_record, record
from bbops_server.publish.sources.values import Built, Fetched, Linked, Migrated, Rehearsed
from bbops_server.publish.stages.backoff import Backoff
from bbops_server.publish.stages.failed_switch import forget_failed_switch
from bbops_server.publish.stages.look_requests import LookRequests
from bbops_server.publish.stages.narrowing import Narrowing
from bbops_server.publish.stages.stages import (
    BUILD,
    CHANGE,
    RELINK,
    REVIEW,
    Stage,
    rehearsal,
)
from bbops_server.publish.stages.tagging import summarize, tag, tag_again
from bbops_server.publish.stages.warming import serve_again, warm
from bbops_server.publish.status.events import Event, Found, Published, Report
from bbops_server.publish.status.publications import add_publication, read_publications
from bbops_server.publish.status.status import Stalled, StatusBoard, now
from bbops_server.settings import ProjectSettings
from bbops_server.settings.freezes import Frozen

Stamp = tuple[object, tuple[object, ...]]
"""Stamps of the source, and of env values, approvals and suspensions, in this order."""

_UNKNOWN = object()


class Reconciler:
    """Watches one source. The newest commit always wins; a failing one never blocks the fix."""

    def __init__(self, context: PublishContext, report: Report) -> None:
        project, source = context.project, context.source
        self.context, self.source, self.report = context, source, report
        self.board = StatusBoard(project.name, source.name, context.url, project.branch)
        self.board.keep = self.keep
        self.ended: Callable[[Publication], None] = lambda _: None
        """Hears of each attempt that ended, once."""
        self.asked, self.is_demanded, self.requests = asyncio.Event(), False, LookRequests()
        self.restored = asyncio.Event()
        """Set once what was live before answers, or cannot."""
        self.warmed: object = None
        self.known: object = _UNKNOWN
        self.backoff = Backoff()
        self.finishing: asyncio.Task[None] | None = None
        self.newest: Published | None = None
        self.settled: Settled | None = None
        """The last publication since the start, unless it stalled."""
        self.live: Linked | None = None
        """The record of `settled`."""
        self.frozen: Frozen | None = None
        """What an attempt found that may have to wait for its end."""
        live = read_record(context)
        self.review: Mapping[str, Any] = live.review if live is not None else {}
        """The rules of review of the live release, served or not; empty before the first one."""
        self.narrowing = Narrowing(lambda: self.context, self.board, self.tell)
        self.rehearsal = rehearsal(self.narrowing.finish)

    def look(self) -> datetime:
        """Ask for a look now. What is live already stays as it is; what is stalled is tried again.

        For who has moved a branch: an attempt that has begun meanwhile is not made twice.
        Returns the time of this request; `board.handled_at` reaches it once the look is over.
        """
        self.source.refresh()
        self.asked.set()
        return self.requests.add()

    def reconcile(self, *, again: bool = True) -> datetime:
        """Ask for a look as `look`, and retry a failed switch; `again` retries a live commit."""
        forget_failed_switch(self.context)
        self.is_demanded |= again
        return self.look()

    def keep(self, publication: Publication) -> None:
        """Remember an attempt that ended, and let others know."""
        add_publication(self.context.project.state, publication)
        self.ended(publication)

    def accept(self, commit: str, base: str = "") -> None:
        """Let a held commit be served. Arguments and errors as of `held.accept`."""
        accept(self.board.stalled, commit, self.context, base=base)
        self.asked.set()

    def exempt(self, who: str) -> str:
        """Let the newest revision through a freeze; return it. Raises as `freezing.exempt`."""
        exempt(self.board.attempted, who, self.context)
        self.asked.set()
        return self.board.attempted or ""

    def move(self, project: ProjectSettings) -> None:
        """Take over where the project answers from now on; what it follows stays the same."""
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
                    requested_at = self.requests.looked_at
                    tried = await self.attempt(stamp)
                    if tried is not None:
                        self.board.handled_at = requested_at
                else:
                    tried = await self.wait(tried)
        finally:
            self.narrowing.stop()

    async def wait(self, tried: object) -> object:
        """Sleep until the next look; return None to make the next look an attempt."""
        until = self.backoff.retry_at(self.board.stalled)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.source.poll_seconds):
                    await self.asked.wait()
                self.asked.clear()
                self.backoff.retries = 0
                if self.is_demanded or self.board.stalled is not None:
                    return None
            if self.waits_for_thaw and find_freeze(self.context) != self.frozen:
                return None
            if until is not None and perf_counter() > until:
                self.backoff.retries += 1
                return None
            if await self.stamp() not in (tried, None):
                self.backoff.retries = 0
                return tried
            if self.board.stalled is None and not self.is_demanded:
                self.board.handled_at = self.requests.looked_at

    @property
    def waits_for_thaw(self) -> bool:
        """Whether the newest commit waits for the end of a freeze."""
        return self.board.stalled is not None and self.board.stalled.reason == "Frozen"

    async def stamp(self) -> Stamp | None:
        """Return the source's stamp with that of what is decided beside it; each may change a lot.

        While the source is out of reach it is the stamp known last; None when there is none.
        """
        self.source.has_own_frontends = self.review.get("main") == "proposals"
        requested_at = self.requests.newest
        try:
            self.known = await self.source.stamp(self.context.plane.build)
        except Stalled as stalled:
            if self.board.lose(stalled):
                self.report(stalled)
        else:
            if self.board.find():
                self.report(Found(self.source.shown))
            self.board.refuse_frontend(self.source.frontend_trouble)
        self.requests.looked_at = requested_at
        if self.known is _UNKNOWN:
            return None
        state = self.context.project.state
        beside = self.context.secrets.stamp(), stamp_approvals(state), stamp_suspension(state)
        return self.known, beside

    async def warm(self) -> None:
        """Link what is live, by whichever server, so that it can answer here; changes nothing else.

        Raises:
            BbopsError, Stalled: this server cannot serve it.
        """
        data, stamp = await read_live(self.context), self.context.secrets.stamp()
        if data is not None and self.warmed != (data.artifact, stamp):
            await warm(data.built(), self.context)
            self.warmed = data.artifact, stamp

    async def restore(self) -> None:
        """Serve what was live before the restart, from its artifact alone."""
        self.board.publications.extend(read_publications(self.context.project.state, 10))
        with contextlib.suppress(OSError, KeyError, ValueError, BbopsError, Stalled):
            data = await read_live(self.context)
            if data is None:
                return
            self.review, built = data.review, data.built()  # before it is served, which may fail
            if not self.context.plane.is_live(self.context.project.name):
                await serve_again(built, self.context)
            warn_of_reviews(data, self.context)
            version = data.version or await tag_again(built, self.context)
            self.board.restored(data.project, data.revision, built.release, version)

    async def attempt(self, stamp: Stamp) -> object:
        """Try what the source holds now.

        Returns:
            The stamp this was an attempt at; None when something newer came in its way.
        """
        began = perf_counter()
        if self.is_demanded:
            self.is_demanded, self.settled = False, None
        try:
            if (
                self.settled is not None
                and self.live is not None
                and self.settled.differs_in_env(stamp)
            ):
                await self.shield(self.relink(self.live, began))
                if self.board.stalled is None:
                    self.settled = settle(self.live, *stamp)
                return stamp
            built = await self.build(await self.begin())
            if self.says_nothing_new(built, stamp):
                return stamp
            rehearsed = await self.unless_newer(self.run_stages(self.rehearsal, built), stamp)
            if rehearsed is None:
                return None
            newest = await self.stamp()
            if newest is None or self.gives_way(newest, stamp):
                return None
            self.backoff.overtaken = 0
            stamp = (stamp[0], newest[1])  # `generate` may have made a value of its own
            self.settled = None
            await self.shield(self.finish(rehearsed, began))
            if self.board.stalled is None:
                self.settled = settle(rehearsed, *stamp)
        except Stalled as stalled:
            await self.refuse(stalled)
        except DraftTooLong as error:
            await self.refuse(Stalled("DraftTooLong", error.message, error.hint))
        except GitError as error:
            await self.refuse(Stalled("GitFailed", error.message, error.hint, is_passing=True))
        except BbopsError as error:
            await self.refuse(Stalled("Failed", error.message, error.hint, is_passing=True))
        except Exception as error:  # noqa: BLE001 - whatever it is, the last release keeps serving
            message = f"unexpected {type(error).__name__}"
            await self.refuse(Stalled("InternalError", message, is_passing=True))
        return stamp

    async def unless_newer(
        self, work: Coroutine[Any, Any, Rehearsed], stamp: Stamp
    ) -> Rehearsed | None:
        """Do what may take long; leave off, and return None, when something newer is there."""
        working = asyncio.create_task(work)
        try:
            while not working.done():
                await asyncio.wait({working}, timeout=self.source.poll_seconds)
                newest = None if working.done() else await self.stamp()
                if newest is not None and self.gives_way(newest, stamp):
                    return None
            return await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def says_nothing_new(self, built: Built, stamp: Stamp) -> bool:
        """Return whether what is there changes nothing of what is live, and note that.

        As where the newest commit is about other projects, or git has packed its references.
        """
        is_live = bool(built.commit) and built.revision == self.board.applied
        found = settle(built, *stamp)
        if not is_live or self.settled is None or not self.settled.covers(found):
            return False
        self.settled = found
        self.board.keep_live()
        return True

    def gives_way(self, newest: Stamp, stamp: Stamp) -> bool:
        """Return whether an attempt at one stamp makes room for a newer one."""
        return newest[0] != stamp[0] and self.backoff.give_way()

    async def shield(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work to its end, even if the loop is cancelled meanwhile."""
        self.finishing = asyncio.create_task(work)
        await asyncio.shield(self.finishing)

    async def run_stages(self, stages: Iterable[Stage], record: Any) -> Any:
        """Return the record of the last stage; the status shows the running one."""
        for stage in stages:
            self.board.progress(stage.reason)
            record = await stage.run(record, self.context)
        return record

    async def finish(self, rehearsed: Rehearsed, began: float) -> None:
        """Publish a rehearsed release: migrate, swap, tag and record it."""
        at = self.context
        planning = asyncio.create_task(summarize(rehearsed, at, self.board.applied))
        try:
            migrated: Migrated = await self.run_stages(CHANGE, rehearsed)
            version = await tag(migrated, at, plan=await planning, changes=migrated.changes)
        finally:
            planning.cancel()
        unrecorded = await self.publish(migrated, version, began)
        self.board.hide(migrated.plan.hidden)
        if migrated.leaves_work:
            self.narrowing.start()
        if unrecorded is not None:
            await self.refuse(unrecorded)

    async def relink(self, live: Linked, began: float) -> None:
        """Publish the live release again, with changed env values."""
        self.board.begin(live.revision)
        self.board.subject, self.board.author = live.facts.subject, live.facts.author
        linked: Linked = await self.run_stages(RELINK, live)
        unrecorded = await self.publish(linked.migrated([]), self.board.version, began)
        if unrecorded is not None:
            await self.refuse(unrecorded)

    async def begin(self) -> Fetched:
        found = await self.source.revision(self.context.plane.build)
        if found is None:
            raise missing_branch(self.context, self.board.applied)
        self.board.begin(found.revision)
        suspension = read_suspension(self.context.project.state)
        if suspension is not None:
            raise stalled_by(suspension, self.context.project.name)
        own = await find_own(found, self.context)
        self.frozen = find_freeze(self.context)
        hold_frozen(own.revision, self.board.applied, self.context)
        return own

    async def build(self, fetched: Fetched) -> Built:
        """Build an artifact, and hold it if a maintainer has to decide first."""
        self.board.subject = self.board.author = ""
        built: Built = await self.run_stages(BUILD, fetched)
        self.board.subject, self.board.author = built.facts.subject, built.facts.author
        if built.facts.ok:
            self.board.warn(built.facts.diagnostics)
        reviewed: Built = await self.run_stages(REVIEW, built)
        return reviewed

    async def publish(self, migrated: Migrated, version: str, began: float) -> Stalled | None:
        """Record and report a release that has gone live; return why recording failed."""
        unrecorded: Stalled | None = None
        try:
            await record(migrated, version, self.context)
            self.backoff.retries = 0
        except Stalled as stalled:  # it is live anyway
            unrecorded = stalled
        facts, milliseconds = migrated.facts, 1000 * (perf_counter() - began)
        self.review, self.live = facts.review, migrated
        self.newest = Published(
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
        """Say why; in `dev` and of a draft the project's routes say it too."""
        self.stall(stalled)
        if self.context.tells_callers:
            found = stalled.diagnostics or [stalled.as_diagnostic()]
            await self.context.plane.refuse(found, self.context.project.name)

    def tell(self, event: Event) -> None:
        """Report by whatever way is in force by then."""
        self.report(event)

    def stall(self, stalled: Stalled) -> None:
        if self.board.stall(stalled):
            self.report(stalled)
