"""Decide about a push before anything has changed: the rules of refs, then the compiler."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import printable, render
from bbops_server.accounts.features import read_features_off
from bbops_server.git_http.hooks import Say
from bbops_server.git_http.reach import AccessCheck
from bbops_server.git_http.refs import (
    COMPLAINT_OF_CHANGES,
    Complaint,
    Rights,
    Update,
    complain_of_rewriting,
    complain_of_size,
    find_complaint,
)
from bbops_server.git_http.repository import Follower, Repository
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import CheckedPush, CheckPush
from bbops_server.process.messages.repositories import CheckDirty, MeasurePush, ReadTrees
from bbops_server.publish.holds.reviews import find_live_gap
from bbops_server.publish.processes.draft_build import DraftBuild
from bbops_server.publish.sources.record import read_live_commit

CHECK_SECONDS: Final = 60.0
DRAFT_SECONDS: Final = 15.0
"""For all drafts of a push together; what is behind them is taken without a check."""

MOST_DRAFTS: Final = 20
MOST_TOLD: Final = 50


class Check:
    """The check of one push; its objects are in quarantine until it is accepted."""

    def __init__(
        self, build: SupervisedChild, repository: Repository, quarantine: str, say: Say
    ) -> None:
        self._build, self._repository, self._say = build, repository, say
        self._quarantine = quarantine

    async def run(self, updates: Sequence[Update], rights: Rights, reach: AccessCheck) -> bool:
        """Return whether the push is accepted, and print the reasons if not."""
        complaints = [*filter(None, (find_complaint(update, rights) for update in updates))]
        for found in complaints:
            await self._say(printable(str(found)))
        if complaints:
            return False
        if complaint := await self._find_too_large():
            await self._say(str(complaint))
            return False
        foreign = await self._find_foreign(updates, reach)
        for why in foreign:
            await self._say(printable(why))
        if foreign:
            return False
        live = [one for one in updates if one.branch in rights.live]
        verdicts = [await self._check_live(one) for one in live]
        if all(verdicts):
            await self._check_drafts([one for one in updates if _is_draft(one, rights)])
        return all(verdicts)

    async def _find_too_large(self) -> Complaint | None:
        """Return why the objects of the push are too many or too large, unpacked."""
        if not self._quarantine:
            return None
        repository = str(self._repository.followers[0].source.repository)
        asked = MeasurePush(repository, self._quarantine)
        return complain_of_size(await self._build.ask(asked, timeout_seconds=CHECK_SECONDS))

    async def _find_foreign(self, updates: Sequence[Update], reach: AccessCheck) -> list[str]:
        """Return the reasons why the user may not push or remove commits."""
        found = []
        for update in updates:
            commits = filter(None, (update.old, update.new))
            if why := await reach.find_foreign(*commits, quarantine=self._quarantine):
                found.append(f"{update.ref}: {why}")
        return found

    # ---- live branches
    async def _check_live(self, update: Update) -> bool:
        """Return whether each project could serve the commit, and print its errors if not."""
        for follower in self._repository.of_branch(update.branch):
            if await self._is_dirty(follower, update.branch):
                await self._say(str(COMPLAINT_OF_CHANGES))
                return False
            verdict = await self._ask(follower, update, CHECK_SECONDS, self._build)
            if not verdict.follows:
                await self._say(str(complain_of_rewriting(update)))
                return False
            if not verdict.ok:
                await self._say(f"'{update.branch}' of '{follower.name}' would not work:")
                await self._say(render_found(verdict.diagnostics, follower.source.path))
                return False
            if verdict.removed:
                await self._say(f"'{update.branch}' of '{follower.name}': {verdict.removed}")
                return False
            if not await self._is_signed(follower, update):
                return False
        return True

    async def _is_dirty(self, follower: Follower, branch: str) -> bool:
        asked = CheckDirty(str(follower.source.repository), branch)
        return (await self._build.ask(asked, timeout_seconds=CHECK_SECONDS)).is_dirty

    async def _is_signed(self, follower: Follower, update: Update) -> bool:
        """Return whether the commits have the signatures of `review.signed`, and report a gap."""
        at, repository = follower.reconciler.context, str(follower.source.repository)
        gap = await find_live_gap(update.new, repository, at, quarantine=self._quarantine)
        if gap is not None:
            await self._say(printable(f"'{update.branch}' of '{follower.name}': {gap.message}"))
            await self._say(printable(gap.hint))
        return gap is None

    # ---- drafts
    async def _check_drafts(self, updates: Sequence[Update]) -> None:
        """Print the errors of drafts, which are accepted anyway."""
        left = list(await self._different(updates[:MOST_DRAFTS]))
        try:
            async with asyncio.timeout(DRAFT_SECONDS):
                while left:
                    await self._tell_draft(left[0])
                    left.pop(0)
        except TimeoutError:
            names = ", ".join(update.shown for update in left)
            await self._say(f"not checked within {DRAFT_SECONDS:g} s: {names}")
            return
        if len(updates) > MOST_DRAFTS:
            await self._say(f"{len(updates) - MOST_DRAFTS} more drafts were not checked")

    async def _tell_draft(self, update: Update) -> None:
        """Print the errors of a draft, from the process that builds drafts."""
        for follower in self._repository.followers:
            build = follower.reconciler.context.plane.awake.build
            new = Update("", update.new, update.ref)
            try:
                verdict = await self._ask(follower, new, DRAFT_SECONDS, build)
            except BbopsError as error:
                await self._say(f"{update.shown} of '{follower.name}' was not checked: {error}")
                continue
            if not verdict.ok:
                await self._say(f"{update.shown} of '{follower.name}' does not work yet:")
            if verdict.diagnostics:
                await self._say(render_found(verdict.diagnostics, follower.source.path))

    async def _different(self, updates: Sequence[Update]) -> Sequence[Update]:
        """Return one update of each tree."""
        if len(updates) < 2:
            return updates
        repository = str(self._repository.followers[0].source.repository)
        asked = ReadTrees(repository, [one.new for one in updates], self._quarantine)
        trees = (await self._build.ask(asked, timeout_seconds=CHECK_SECONDS)).trees
        return list({trees[one.new]: one for one in updates if one.new in trees}.values())

    async def _ask(
        self,
        follower: Follower,
        update: Update,
        seconds: float,
        build: SupervisedChild | DraftBuild,
    ) -> CheckedPush:
        """Let a build process check a commit as it would build it."""
        at, source = follower.reconciler.context, follower.source
        bounded = follower.reconciler.review.get("max_removed_percent") is not None
        asked = CheckPush(
            source={
                "kind": "git", "repository": str(source.repository), "commit": update.new,
                "branch": update.branch, "path": source.path, "quarantine": self._quarantine,
            },
            old=update.old, engine=at.engine, bounds=bounded and bool(update.old),
            live=await asyncio.to_thread(read_live_commit, at),
            off=tuple(await asyncio.to_thread(read_features_off, at.plane.settings)),
        )  # fmt: skip
        return await build.ask(asked, timeout_seconds=seconds)


def _is_draft(update: Update, rights: Rights) -> bool:
    return bool(update.shown and update.new) and update.branch not in rights.live


def render_found(found: Sequence[JsonDiagnostic], folder: str = "") -> str:
    """Return diagnostics as `bbops validate` prints them, errors first where they are too many."""
    every = [one.diagnostic() for one in found]
    told = every if len(every) <= MOST_TOLD else sorted(every, key=_weight)[:MOST_TOLD]
    text = render(told, "text", folder=folder)
    more = len(every) - len(told)
    return f"{text}, and {more} more that are not shown" if more else text


def _weight(one: Diagnostic) -> bool:
    return one.severity != "error"
