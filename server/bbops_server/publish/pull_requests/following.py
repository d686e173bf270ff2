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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.answers import ForgeStatus, PullStatus
from bbops_server.forges.hosted import (
    ForgeAway,
    ForgeConflict,
    ForgeForbidden,
    ForgeGone,
    HostedForge,
)
from bbops_server.forges.values import PullRequest
from bbops_server.process.host.secrets import StoreStamp
from bbops_server.process.messages.repositories import FetchHeads
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.impact.impact import HostedProject, ImpactReader
from bbops_server.publish.impact.proposal_tests import ProposalTests
from bbops_server.publish.pull_requests.desired import (
    DesiredPull,
    PullPlace,
    PullPreview,
    make_desired,
)
from bbops_server.publish.pull_requests.effects import EffectReader, PullEffect, heads_folder
from bbops_server.publish.pull_requests.fork_heads import ForkHeads
from bbops_server.publish.pull_requests.posting import PullPoster
from bbops_server.publish.pull_requests.production import post_live
from bbops_server.publish.pull_requests.records import PostedFile
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.pinned import PinnedSource
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.signal import Signal

LIST_SECONDS: Final = 600.0
"""The period of the list of pull requests without an event."""

SETTLE_SECONDS: Final = 0.2
"""The time for which an update collects further events."""

LEAST_PAUSE_SECONDS: Final = 1.0
"""The pause after a failure, also if an event arrives."""

RETRY_FACTOR: Final = 20.0
"""The pause after the effect of a fork that could not be read, by its duration."""

FETCH_SECONDS: Final = 300.0
_PAUSES: Final = (5.0, 15.0, 60.0, 300.0)
"""The pauses after failures in a row."""

MAX_PULLS: Final = 200
"""The open pull requests that are followed, newest first."""

_log = logging.getLogger(__name__)

EffectKey = tuple[str, str, str, StoreStamp, bool]
"""Head, base, live revision, stamp of the env values, and whether its code runs."""


@dataclass(frozen=True, slots=True)
class FollowedPull:
    """A pull request with its head in git."""

    pull: PullRequest
    head: str


class PullFollower:
    """Follows the pull requests of one project."""

    def __init__(
        self, forge: HostedForge, source: RemoteSource, reconciler: Reconciler,
        drafts: ProjectDrafts,
    ) -> None:  # fmt: skip
        self._forge, self._source = forge, source
        self._reconciler, self._drafts = reconciler, drafts
        self._event, self._wants_list, self._list_due = asyncio.Event(), True, 0.0
        self._pulls: Sequence[FollowedPull] = ()
        self._open: frozenset[int] = frozenset()
        """All open pull requests, also those whose heads are not here."""
        self._effects: dict[int, tuple[EffectKey, PullEffect]] = {}
        self._retries: dict[int, float] = {}
        """By number, the time from which an effect that could not be read is read again."""
        self._tests = ProposalTests(self._at.plane.build)
        self._desired: dict[int, DesiredPull] = {}
        self._forks = ForkHeads(self._at.project.state)
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
        newest = sorted(self._pulls, key=lambda each: -each.pull.number)
        pulls = [self._describe(followed) for followed in newest]
        return ForgeStatus(self._forge.repository, self._problem, pulls)

    def find(self, number: int) -> PullStatus | None:
        """Return an open pull request."""
        return next((pull for pull in self.status().pulls if pull.number == number), None)

    def find_effect(self, number: int, head: str) -> PullEffect | None:
        """Return the effect of merging a head; None if it is not known yet."""
        _, effect = self._effects.get(number, (None, None))
        return effect if effect is not None and effect.head == head else None

    def allow(self, number: int, head: str, who: str) -> str:
        """Allow the code of a fork's head to run here; return the full commit. Blocks.

        Raises:
            ServerError: there is no such open pull request of a fork, or its head is another one.
        """
        followed = next((each for each in self._pulls if each.pull.number == number), None)
        if followed is None:
            raise ServerError(f"'{self._forge.repository}' has no open pull request #{number}")
        if not followed.pull.is_fork:
            raise ServerError(f"pull request #{number} is not from a fork, so its code runs anyway")
        if len(head) < len(followed.head) and followed.head.startswith(head.lower()):
            raise ServerError(
                f"'{head}' is a shortened id, which another commit can have, too",
                hint=f"compare all digits of {followed.head} with the commit that you have read",
            )
        if followed.head != head.lower():
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
            return SETTLE_SECONDS, max(self._list_due - monotonic(), 0.0)
        self._failures += 1
        return least, _PAUSES[min(self._failures, len(_PAUSES)) - 1]

    async def _watch(self) -> None:
        """Update after each change of the live branch or of a draft."""
        board = self._reconciler.board
        live: object = None
        drafts: Mapping[str, tuple[str, str]] = {}
        while True:
            changes = self._drafts.changed.next(), board.changed.next()
            old, drafts = (
                drafts,
                {draft.branch: (draft.commit, draft.message) for draft in self._drafts.list()},
            )
            heads = {each.pull.branch: each.head for each in self._pulls if not each.pull.is_fork}
            moved = (branch for branch, head in heads.items() if branch in old
                     and drafts.get(branch) != old[branch]
                     and drafts.get(branch, ("",))[0] != head)  # fmt: skip
            if live != board.applied or any(moved):
                live = board.applied
                self.refresh()
            elif drafts != old:
                self.update()
            waits = [asyncio.create_task(change.wait()) for change in changes]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()

    async def _update(self, file: PostedFile) -> None:
        self._event.clear()
        if self._wants_list or monotonic() >= self._list_due:
            self._wants_list = False
            try:
                self._pulls = await self._read_pulls()
            except BbopsError:
                self._wants_list = True
                raise
            self._list_due = monotonic() + LIST_SECONDS
            await self._end_others(file)
        self._show_forks()
        base = await self._find_base()
        if not base:
            return
        own = [each for each in self._pulls if not each.pull.is_fork]
        forks = [each for each in self._pulls if each.pull.is_fork]
        forbidden = [await self._try(file, each, base) for each in own]
        await self._post_live(file)
        for each in forks:
            forbidden.append(await self._try(file, each, base))
            if self._event.is_set():  # the others wait: an event may be about an own branch
                break
        if errors := [error for error in forbidden if error is not None]:
            raise errors[0]

    async def _try(
        self, file: PostedFile, followed: FollowedPull, base: str
    ) -> ForgeForbidden | None:
        """Set the state of a pull request; return a refusal, which may concern only one request."""
        try:
            await self._post(file, followed, base)
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

    async def _read_pulls(self) -> Sequence[FollowedPull]:
        """Return the open pull requests with their heads, read from git.

        Pull requests of own branches come first: a stranger can open any number of others.
        """
        listed = await self._forge.list_open(self._at.project.branch)
        self._open = frozenset(pull.number for pull in listed)
        first = sorted(listed, key=lambda pull: pull.is_fork)[:MAX_PULLS]
        pulls = {self._forge.pull_ref.format(number=pull.number): pull for pull in first}
        mirror = self._source.mirror
        request = FetchHeads(
            self._source.address.url, str(heads_folder(mirror)), str(mirror), tuple(pulls),
            await self._source.find_authorization(),
        )  # fmt: skip
        heads = (await self._at.plane.build.ask(request, timeout_seconds=FETCH_SECONDS)).branches
        return tuple(FollowedPull(pulls[ref], heads[ref]) for ref in pulls if ref in heads)

    async def _find_base(self) -> str:
        """Return the newest commit of the live branch; empty without one."""
        newest = await self._source.revision(self._at.plane.build)
        return newest.source["commit"] if newest is not None else ""

    async def _end_others(self, file: PostedFile) -> None:
        """End the previews of pull requests that are not open any more, and forget them."""
        for posted in file.posted.pulls:
            if posted.number not in self._open:
                await PullPoster(self._forge, file, posted.number).end_preview()
                file.write(file.posted.drop(posted.number))
                self._effects.pop(posted.number, None)
                self._desired.pop(posted.number, None)
                self._retries.pop(posted.number, None)
        await asyncio.to_thread(self._forks.keep_open, self._open)

    async def _post(self, file: PostedFile, followed: FollowedPull, base: str) -> None:
        pull, head = followed.pull, followed.head
        runs = self._runs(followed)
        if runs and file.posted.find(pull.number).check.commit != head:
            self._drafts.prepare(_draft_of(pull))
        effect = await self._read_effect(followed, base)
        desired = self._desired[pull.number] = make_desired(
            pull.number, effect, self._find_preview(followed), self._place, runs=runs
        )
        try:
            await PullPoster(self._forge, file, pull.number).post(desired)
        except (ForgeConflict, ForgeGone) as error:
            # its head has moved, or it was deleted: the next list shows that
            _log.info("pull request %d of '%s': %s", pull.number, self._forge.repository, error)

    async def _read_effect(self, followed: FollowedPull, base: str) -> PullEffect:
        """Return the effect of a merge, which is read again once something has changed.

        The tests of a head run once: a change of the live branch plans it again, no more.
        """
        number, is_fork, at = followed.pull.number, followed.pull.is_fork, self._at
        key = followed.head, base, self._reconciler.board.applied or "", at.secrets.stamp(), (
            self._runs(followed)
        )  # fmt: skip
        known_key, known = self._effects.get(number, (None, None))
        is_late = monotonic() >= self._retries.get(number, 0.0)
        if known is not None and known_key == key and not (known.problem and is_late):
            return known
        heads = heads_folder(self._source.mirror)
        source = BranchSource(heads, at.project.branch, at.project.path)
        reader = EffectReader(
            # a stranger's files must not delay a publication
            ImpactReader(at.plane.awake.build if is_fork else at.plane.build, self._tests),
            HostedProject(at.project.name, at, source),
        )
        tests = known.tests if known is not None and known.head == followed.head else None
        runs_tests = self._runs(followed) and tests is None
        began = monotonic()
        effect = await reader.read(number, base, followed.head, runs_tests=runs_tests)
        spent = monotonic() - began
        self._retries[number] = monotonic() + (RETRY_FACTOR * spent if is_fork else 0.0)
        if tests is not None:
            effect = replace(effect, tests=tests)
        self._effects[number] = key, effect
        return effect

    def _find_preview(self, followed: FollowedPull) -> PullPreview:
        """Return the draft of a head whose code runs here."""
        if not self._runs(followed) or not self._at.plane.settings.drafts.most:
            return PullPreview()
        branch = _draft_of(followed.pull)
        draft = self._drafts.find(branch)
        is_current = draft is not None and draft.commit == followed.head
        problem = draft.message if draft is not None and is_current else ""
        return PullPreview(self._drafts.url_of(branch), problem)

    def _runs(self, followed: FollowedPull) -> bool:
        """Return whether the code of a pull request runs here: tests and preview."""
        pull = followed.pull
        return not pull.is_fork or self._forks.allows(pull.number, followed.head)

    def _show_forks(self) -> None:
        """Show the allowed heads of forks as drafts."""
        heads, path = heads_folder(self._source.mirror), self._at.project.path
        allowed = [each for each in self._pulls if each.pull.is_fork and self._runs(each)]
        self._drafts.show_forks({
            _draft_of(each.pull): PinnedSource(heads, each.head, _draft_of(each.pull), path)
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
        )  # fmt: skip

    def _report(self, error: BbopsError) -> None:
        """Log a new problem once."""
        if error.message != self._problem:
            _log.warning("cannot update '%s' on its forge: %s", self._forge.repository, error)
        self._problem = error.message


def _draft_of(pull: PullRequest) -> str:
    """Return the name of a pull request's draft; for a fork, a name that no branch can have."""
    return f"pull~{pull.number}" if pull.is_fork else pull.branch
