"""Hold commits of a hosted repository until the forge has the reviews that the live rules demand.

With `review.source: forge`, merged pull requests prove the review. Answers of the forge are kept,
so that a retry asks about no commit twice,
until nothing is missing: then all reviews are read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from bbops.base.errors import ServerError
from bbops.base.render import one_line
from bbops_server.accounts.features import read_features_off
from bbops_server.forges.hosted import ForgeAway, ForgeError, ForgeForbidden, HostedForge
from bbops_server.process.messages.proposals import Propose, ProposedChange
from bbops_server.process.messages.reviews import ArrivedCommit, ListArrivals
from bbops_server.publish.forge_reviews.forge_review import (
    ForgeReview,
    ReviewedCommits,
    ReviewFindings,
    read_reviewed,
    record_reviewed,
)
from bbops_server.publish.holds.held import SHORT, HeldCommit, accept_command
from bbops_server.publish.holds.unchanged import COMPARE_SECONDS
from bbops_server.publish.sources.context import PublishContext, count_jobs
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.values import BuiltRevision

MAX_COMMITS: Final = 50
"""The most commits of one publication; each is a request to the forge."""

PLAN_SECONDS: Final = 120.0
_SHOWN: Final = 5


async def require_forge_reviews(
    old: str, new: str, built: BuiltRevision, at: PublishContext
) -> Mapping[str, str]:
    """Return by new commit the reviewed head of its pull request.

    Args:
        old: the live commit.
        new: the commit to publish.
        built: the built commit.
        at: its project.

    Raises:
        HeldCommit: a review is missing, or the forge does not answer.
        BbopsError: the repository or the data cannot be read.
    """
    commits = await list_arrivals(old, new, built, at, most=MAX_COMMITS + 1)
    if at.forge is None:
        message = "the server has no access to the forge that 'review.source' names"
        fix = "give 'forge' of the project in server.yaml a credential"
        raise _held([message], [], fix, old, new, len(commits), at)
    if wrong := _find_broken_line(old, commits, at):
        raise _held([wrong], [], "", old, new, len(commits), at)
    change = await _plan(old, built, at)
    known = await asyncio.to_thread(read_reviewed, at.project.state, old, change.approvals)
    unknown = [each for each in commits if each.commit not in known.heads]
    findings = await _ask(at.forge, old, unknown, change, built, at)
    heads = {**known.heads, **findings.heads}
    remembered = [each for each in commits if each.commit in known.heads]
    if remembered and not findings.obstacles:  # a reviewer may have lost their rights since
        findings = await _ask(at.forge, old, remembered, change, built, at)
        lost = {each.commit for each in remembered} - findings.heads.keys()
        heads = {commit: head for commit, head in heads.items() if commit not in lost}
    if heads != known.heads:
        await _record(ReviewedCommits(old, change.approvals, heads), at)
    if findings.obstacles:
        raise _held(findings.obstacles, findings.pages, "", old, new, len(commits), at)
    return heads


async def list_arrivals(
    old: str, new: str, built: BuiltRevision, at: PublishContext, *, most: int
) -> Sequence[ArrivedCommit]:
    """Return the commits on the first-parent line after the live commit, oldest first.

    At most `most`, the newest; none if the live commit is gone. Raises as `require_forge_reviews`.
    """
    request = ListArrivals(built.source["repository"], old, new, most)
    return (await at.build.ask(request, timeout_seconds=COMPARE_SECONDS)).commits


def _find_broken_line(old: str, commits: Sequence[ArrivedCommit], at: PublishContext) -> str:
    """Return why the commits cannot be reviewed one by one; empty if they can."""
    if len(commits) > MAX_COMMITS:
        return f"more than {MAX_COMMITS} commits arrived at once"
    if not commits or commits[0].parents[:1] != (old,):
        return f"the first parents of '{at.project.branch}' do not lead to {old[:SHORT]}"
    return ""


async def _plan(old: str, built: BuiltRevision, at: PublishContext) -> ProposedChange:
    """Return the effect of all new commits, with the approvals that the live rules require."""
    live = await asyncio.to_thread(read_record, at)
    off = await asyncio.to_thread(read_features_off, at.plane.settings)
    request = Propose(
        source=built.source, base={**built.source, "commit": old}, engine=at.engine,
        off=tuple(off), review=live.review if live is not None else {},
        work=await count_jobs(at), **at.request_fields,
    )  # fmt: skip
    return await at.build.ask(request, timeout_seconds=PLAN_SECONDS)


async def _ask(
    forge: HostedForge, old: str, commits: Sequence[ArrivedCommit], change: ProposedChange,
    built: BuiltRevision, at: PublishContext,
) -> ReviewFindings:  # fmt: skip
    """Return the findings about commits; none without commits."""
    if not commits:
        return ReviewFindings()
    repository, branch = built.source["repository"], at.project.branch
    review = ForgeReview(forge, at.source, at.plane.build, repository, branch, old)
    try:
        return await review.review(commits, change.approvals, change.reasons)
    except ForgeError as error:
        raise _unanswered(error, old, commits, at) from None


async def _record(reviewed: ReviewedCommits, at: PublishContext) -> None:
    try:
        await asyncio.to_thread(record_reviewed, at.project.state, reviewed)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.project.state}': {reason}") from None


def _held(
    obstacles: Sequence[str], pages: Sequence[str], fix: str, old: str, new: str, count: int,
    at: PublishContext,
) -> HeldCommit:  # fmt: skip
    arrived = f"commit {new[:SHORT]} has" if count < 2 else f"{count} commits have"
    more = len(obstacles) - _SHOWN
    listed = [*obstacles[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
    command = accept_command(new, at, old="" if count == 1 else old)
    fix = fix or (f"complete {', '.join(pages[:_SHOWN])}" if pages else "")
    accept = f"look at 'git diff {old} {new}', then '{command}' accepts it"
    return HeldCommit(
        "ReviewMissing",
        f"{arrived} arrived in branch '{at.project.branch}' of {at.source.shown} without the review"
        f" that 'review' of the live project.yaml asks for: {one_line('; '.join(listed))};"
        f" {old[:SHORT]} stays live",
        f"{fix}; or {accept}" if fix else accept,
        old=old, new=new, must_name_both=count != 1, is_passing=True,
    )  # fmt: skip


def _unanswered(
    error: ForgeError, old: str, commits: Sequence[ArrivedCommit], at: PublishContext
) -> HeldCommit:
    """Return the hold for a forge that does not say whether commits were reviewed."""
    kinds = ((ForgeAway, "ForgeAway"), (ForgeForbidden, "ForgeForbidden"))
    reason = next((name for kind, name in kinds if isinstance(error, kind)), "ForgeFailed")
    new, is_single = commits[-1].commit, len(commits) == 1
    command = accept_command(new, at, old="" if is_single else old)
    hint = f"{error.hint}; " if error.hint else ""
    held = HeldCommit(
        reason, f"the forge cannot prove the review of {new[:SHORT]}: {one_line(error.message)}",
        f"{hint}the server tries again; or review it yourself, then '{command}' accepts it",
        old=old, new=new, must_name_both=not is_single, is_passing=True,
    )  # fmt: skip
    held.wait_seconds = error.wait_seconds if isinstance(error, ForgeAway) else 0.0
    return held
