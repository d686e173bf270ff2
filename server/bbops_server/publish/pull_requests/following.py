"""Follow the pull requests of one project, and keep their state on the forge as it should be.

The loop compares the desired with the posted state, and sends the difference. It runs after each
webhook, each change of a branch, each publication and each change of a draft, and retries after
failures; so an outage of the forge or of the server loses nothing. The list of pull requests is
read again every ten minutes, by one conditional request, which finds what a lost webhook would have
reported.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from time import monotonic
from typing import Final

from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.answers import ForgeStatus, PullStatus
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.standing import may_still
from bbops_server.forges.hosted import (
    ForgeAway,
    ForgeConflict,
    ForgeForbidden,
    ForgeGone,
    ForgeRejected,
    HostedForge,
)
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.impact.impact import ProposalTests
from bbops_server.publish.pull_requests.desired import (
    DesiredPull,
    PullPlace,
    PullPreview,
    make_desired,
)
from bbops_server.publish.pull_requests.effects import PullEffect, heads_folder
from bbops_server.publish.pull_requests.fork_heads import SCARCE_LIST_SECONDS, ForkHeads, ForkTurns
from bbops_server.publish.pull_requests.known_effects import KnownEffects
from bbops_server.publish.pull_requests.posting import PullPoster, post_live
from bbops_server.publish.pull_requests.reading import (
    FollowedPull,
    OpenPulls,
    PostedFile,
    find_base,
    read_open,
)
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.pinned import PinnedSource
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.values import is_full_id
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.status import Signal

LIST_SECONDS: Final = 600.0
"""The period of the list of pull requests without an event."""

SETTLE_SECONDS: Final = 0.2
"""The time for which an update collects further events."""

LATE_SECONDS: Final = 10.0
"""The time in which the webhook of a moved branch arrives; later it counts as lost."""

LEAST_PAUSE_SECONDS: Final = 1.0
"""The pause after a failure, also if an event arrives."""

_PAUSES: Final = (5.0, 15.0, 60.0, 300.0)
"""The pauses after failures in a row."""

_log = logging.getLogger(__name__)


class PullFollower:
    """Follows the pull requests of one project."""

    def __init__(
        self, forge: HostedForge, source: RemoteSource, reconciler: Reconciler,
        drafts: ProjectDrafts,
    ) -> None:  # fmt: skip
        self._forge, self._source = forge, source
        self._reconciler, self._drafts = reconciler, drafts
        self._event, self._wants_list = asyncio.Event(), True
        self._listed, self._list_due = float("-inf"), 0.0
        self._open, self._tests = OpenPulls(), ProposalTests(self._at.plane.build)
        self._effects = KnownEffects(source, self._tests)
        self._desired: dict[int, DesiredPull] = {}
        self._forks, self._turns = ForkHeads(self._at.project.state), ForkTurns()
        self._problem, self._failures = "", 0
        self.changed = Signal()
        """Sent after each update."""

    @property
    def _at(self) -> PublishContext:
        return self._reconciler.context

    def refresh(self) -> None:
        """Read the list of pull requests now."""
        self._wants_list = True
        self._event.set()

    def update(self) -> None:
        """Compare the state now, by the known list."""
        self._event.set()

    def status(self) -> ForgeStatus:
        """Return the open pull requests, newest first."""
        newest = sorted(self._open.followed, key=lambda each: -each.pull.number)
        pulls = [self._describe(followed) for followed in newest]
        is_postponed = any(pull.waits for pull in pulls)
        why = self._forge.budget.explain() if is_postponed else ""
        return ForgeStatus(self._forge.repository, self._problem, pulls, why)

    def find(self, number: int) -> PullStatus | None:
        """Return an open pull request."""
        return next((pull for pull in self.status().pulls if pull.number == number), None)

    def find_effect(self, number: int, head: str) -> PullEffect | None:
        """Return the effect of merging a head; None if it is not known yet."""
        return self._effects.find(number, head)

    def find_plan(self, number: int, head: str) -> str:
        """Return the plan of a head as it is posted, in Markdown; empty if it is not known."""
        desired = self._desired.get(number)
        return desired.plan.text if desired is not None and desired.plan.commit == head else ""

    def allow(self, number: int, head: str, who: str) -> str:
        """Allow the code of a fork's head to run here; return the full commit. Blocks.

        Raises:
            ServerError: there is no such open pull request of a fork, or its head is another one.
        """
        followed = self._open.find(number)
        if followed is None:
            raise ServerError(f"'{self._forge.repository}' has no open pull request #{number}")
        if not followed.pull.is_fork:
            raise ServerError(f"pull request #{number} is not from a fork, so its code runs anyway")
        if not is_full_id(head, followed.head):
            raise ServerError(
                f"pull request #{number} is at {followed.head[:12]}, not {head[:12]}",
                hint="read its changes again, then allow that commit",
            )
        self._forks.allow(number, followed.head, who)
        return followed.head

    async def run(self) -> None:
        """Follow until cancelled."""
        file = await asyncio.to_thread(PostedFile, self._at.project.state, self._forge.repository)
        watching = asyncio.create_task(self._watch())
        try:
            while True:
                least, most = await self._attempt(file)
                self.changed.send()
                with suppress(TimeoutError):
                    async with asyncio.timeout(most):
                        await self._event.wait()
                await asyncio.sleep(least)
        finally:
            watching.cancel()
            await self._tests.stop()
            await self._forge.aclose()

    async def _attempt(self, file: PostedFile) -> tuple[float, float]:
        """Update the forge; return the pause after an event, and without one."""
        try:
            await self._update(file)
        except BbopsError as error:
            wait = error.wait_seconds if isinstance(error, ForgeAway) else 0.0
            least = max(wait, LEAST_PAUSE_SECONDS)
            self._report(error)
        except Exception:  # noqa: BLE001 - the project keeps serving
            _log.exception("cannot follow pull requests of '%s'", self._forge.repository)
            least = LEAST_PAUSE_SECONDS
        else:
            self._failures, self._problem = 0, ""
            return SETTLE_SECONDS, self._find_pause()
        self._failures += 1
        return least, _PAUSES[min(self._failures, len(_PAUSES)) - 1]

    def _find_pause(self) -> float:
        """Return the seconds until the next update without an event."""
        seconds = max(self._list_due - monotonic(), 0.0)
        budget = self._forge.budget
        return min(seconds, budget.reset_seconds) if budget.is_low else seconds

    async def _watch(self) -> None:
        """Update after each change of the live branch or of a draft."""
        board, seen = self._reconciler.board, object()
        while True:
            changes = self._drafts.changed.next(), board.changed.next()
            drafts = {draft.branch: (draft.commit, draft.message) for draft in self._drafts.list()}
            current = board.applied, drafts
            if current != seen:
                seen = current
                self.update()
                asyncio.get_running_loop().call_later(LATE_SECONDS, self._check_heads)
            waits = [asyncio.create_task(change.wait()) for change in changes]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()

    def _check_heads(self) -> None:
        """Read the list if a branch has moved and no webhook has reported that."""
        drafts = {draft.branch: draft.commit for draft in self._drafts.list()}
        own = self._open.own
        if any(drafts.get(each.draft, each.head) != each.head for each in own):
            self.refresh()

    async def _update(self, file: PostedFile) -> None:
        self._event.clear()
        await self._check_decisions()
        if self._is_list_due():
            self._wants_list = False
            try:
                self._open = await read_open(self._forge, self._source, self._at)
            except BbopsError:
                self._wants_list = True
                raise
            self._listed = monotonic()
            self._list_due = self._listed + LIST_SECONDS
            await self._end_others(file)
        self._show_forks()
        base = await find_base(self._source, self._at)
        if not base:
            return
        forbidden = [await self._try(self._post(file, each, base)) for each in self._open.own]
        forbidden.append(await self._try(self._post_live(file)))
        forbidden += await self._post_forks(file, base)
        if errors := [error for error in forbidden if error is not None]:
            raise errors[0]

    def _is_list_due(self) -> bool:
        """Return whether the list is read now; events wait while only the reserve is left."""
        if self._wants_list and self._forge.budget.is_low:
            self._list_due = min(self._list_due, self._listed + SCARCE_LIST_SECONDS)
            return monotonic() >= self._list_due
        return self._wants_list or monotonic() >= self._list_due

    async def _post_forks(self, file: PostedFile, base: str) -> list[ForgeForbidden | None]:
        """Update forks in turn: allowed heads first, the others unless only the reserve is left."""
        forks = sorted(self._turns.sort(self._open.forks), key=lambda each: not self._runs(each))
        forbidden = list[ForgeForbidden | None]()
        for each in forks:
            if self._runs(each) or not self._forge.budget.is_low:
                forbidden.append(await self._try(self._post(file, each, base)))
                self._turns.take(each.pull.number)
            if self._event.is_set():  # the others wait: an event may be about an own branch
                break
        is_low, posted = self._forge.budget.is_low, file.posted
        self._turns.wait([
            each.pull.number for each in forks
            if is_low and not self._runs(each)
            and posted.find(each.pull.number).check.commit != each.head
        ])  # fmt: skip
        return forbidden

    async def _try(self, work: Awaitable[None]) -> ForgeForbidden | None:
        """Do work; return the refusal of a request, which may concern one right alone."""
        try:
            await work
        except ForgeRejected:  # no request can succeed
            raise
        except ForgeForbidden as error:
            return error
        return None

    async def _post_live(self, file: PostedFile) -> None:
        await self._source.settle_tags()
        publications = self._reconciler.board.publications
        newest = publications[-1] if publications else None
        changes = newest.changes if newest is not None and newest.outcome == "live" else ()
        await post_live(self._forge, file, self._at, self._place.name("production"), changes)

    @property
    def _place(self) -> PullPlace:
        project, page = self._at.project, self._at.plane.settings.control_url
        name = project.name or self._reconciler.board.name
        return PullPlace(name, project.path, f"{page}/projects/{name}")

    async def _end_others(self, file: PostedFile) -> None:
        """End the previews of pull requests that are not open any more, and forget them."""
        for posted in file.posted.pulls:
            if posted.number not in self._open.numbers:
                await PullPoster(self._forge, file, posted.number).end_preview()
                file.write(file.posted.drop(posted.number))
                self._effects.drop(posted.number)
                self._desired.pop(posted.number, None)
        self._turns.keep_open(self._open.numbers)
        await asyncio.to_thread(self._forks.keep_open, self._open.numbers)

    async def _post(self, file: PostedFile, followed: FollowedPull, base: str) -> None:
        pull, head = followed.pull, followed.head
        runs = self._runs(followed)
        if runs and file.posted.find(pull.number).check.commit != head:
            self._drafts.prepare(followed.draft)
        live = self._reconciler.board.applied or ""
        effect = await self._effects.read(followed, base, live, self._at, runs=runs)
        desired = self._desired[pull.number] = make_desired(
            pull.number, effect, self._find_preview(followed), self._place, runs=runs
        )
        try:
            await PullPoster(self._forge, file, pull.number).post(desired)
        except (ForgeConflict, ForgeGone) as error:
            # its head has moved, or it was deleted: the next list shows that
            _log.info("pull request %d of '%s': %s", pull.number, self._forge.repository, error)

    def _find_preview(self, followed: FollowedPull) -> PullPreview:
        """Return the draft of a head whose code runs here."""
        if not self._runs(followed) or not self._at.plane.settings.drafts.most:
            return PullPreview()
        branch = followed.draft
        draft = self._drafts.find(branch)
        is_current = draft is not None and draft.commit == followed.head
        problem = draft.message if draft is not None and is_current else ""
        return PullPreview(self._drafts.url_of(branch), problem)

    def _runs(self, followed: FollowedPull) -> bool:
        """Return whether the code of a pull request runs here: tests and preview."""
        pull = followed.pull
        return not pull.is_fork or self._forks.allows(pull.number, followed.head)

    async def _check_decisions(self) -> None:
        try:
            await asyncio.to_thread(self._forks.check, self._may_allow)
        except BbopsError as error:  # own branches do not wait for the accounts
            _log.warning("cannot check who has allowed forks: %s", error)

    def _may_allow(self, who: str) -> bool:
        """Return whether the user of an earlier decision may still allow heads of forks."""
        settings = self._at.plane.settings
        return may_still(settings, who, Permission.RUN_FORK, self._place.project)

    def _show_forks(self) -> None:
        """Show the allowed heads of forks as drafts."""
        heads, path = heads_folder(self._source.mirror), self._at.project.path
        allowed = [each for each in self._open.forks if self._runs(each)]
        self._drafts.show_forks({
            each.draft: PinnedSource(heads, each.head, each.draft, path)
            for each in allowed
        })  # fmt: skip

    def _describe(self, followed: FollowedPull) -> PullStatus:
        pull, desired = followed.pull, self._desired.get(followed.pull.number)
        if desired is not None and desired.check.commit != followed.head:
            desired = None
        return PullStatus(
            pull.number, pull.title, pull.author, pull.branch, followed.head, pull.url,
            pull.is_fork, pull.is_draft, self._runs(followed),
            desired.check.summary if desired is not None else "",
            desired.plan.summary if desired is not None else "",
            desired is not None and desired.is_ok, self._find_preview(followed).url,
            self._forge.budget.explain() if self._turns.waits(pull.number) else "",
            desired.reason if desired is not None else "",
        )  # fmt: skip

    def _report(self, error: BbopsError) -> None:
        """Log a new problem once."""
        if error.message != self._problem:
            _log.warning("cannot update '%s' on its forge: %s", self._forge.repository, error)
        self._problem = error.message
