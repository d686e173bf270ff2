"""Hold commits on the live branch without the review or signature that the live rules require.

The server's own git rejects such a push and merges only reviewed proposals. Commits of a hosted
repository wait until a maintainer accepts them, unless the rules accept the forge's reviews.
Signatures and removal limits apply to both.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.render import one_line
from bbops_server.process.messages.builds import CheckRemoval
from bbops_server.process.messages.repositories import CountCommits
from bbops_server.process.messages.reviews import (
    ArrivedCommit,
    FindUnsigned,
    ListArrivals,
    UnsignedCommit,
)
from bbops_server.publish.holds.forge_reviews import require_forge_reviews
from bbops_server.publish.holds.held import SHORT, HeldCommit, accept_command, read_accepted
from bbops_server.publish.holds.unchanged import COMPARE_SECONDS
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import LiveRecord, applied_commit, read_record
from bbops_server.publish.sources.values import BuiltRevision, FetchedRevision

_log = logging.getLogger(__name__)


async def hold_unreviewed(built: BuiltRevision, at: PublishContext) -> BuiltRevision:
    """Hold a commit that violates the live review rules, unless it was accepted.

    Raises:
        Held: a maintainer has to decide.
    """
    old = None if at.exposes_errors else applied_commit(at)
    new = built.source.get("commit", "")
    if old is None or old == new or await asyncio.to_thread(read_accepted, at, old) == new:
        return built
    live = read_record(at)
    rules = live.review if live is not None else {}
    heads: Mapping[str, str] = {}
    if requires_acceptance(rules, at):
        if rules.get("source") != "forge":
            raise await _missing(old, new, built, at)
        heads = await require_forge_reviews(old, new, built, at)
    await require_signatures(old, new, built, at, heads=heads)
    if rules.get("max_removed_percent") is not None:
        await _hold_large_removal(old, new, built, at)
    return built


def requires_acceptance(rules: Mapping[str, Any], at: PublishContext) -> bool:
    """Return whether commits of a hosted repository need a review or to be accepted."""
    return at.source.is_elsewhere and not at.is_draft and rules.get("main") == "proposals"


def warn_of_reviews(live: LiveRecord, at: PublishContext) -> None:
    """Log at start that commits now wait for acceptance, if earlier ones did not.

    Args:
        live: the live record.
        at: its project.
    """
    is_of_forge = live.review.get("source") == "forge"
    if not live.holds_reviews and not is_of_forge and requires_acceptance(live.review, at):
        _log.warning(
            "project '%s' says 'review: { main: proposals }', which now holds for commits pushed to"
            " %s, too: each waits until 'bbops accept' accepts it",
            live.project or at.project.name, at.source.shown,
        )  # fmt: skip


async def _missing(old: str, new: str, fetched: FetchedRevision, at: PublishContext) -> HeldCommit:
    request = CountCommits(fetched.source["repository"], old, new)
    count = (await at.build.ask(request, timeout_seconds=COMPARE_SECONDS)).count
    arrived = f"commit {new[:SHORT]} has" if count < 2 else f"{count} commits have"
    command = accept_command(new, at, old="" if count == 1 else old)
    return HeldCommit(
        "ReviewMissing",
        f"{arrived} arrived in branch '{at.project.branch}' of {at.source.shown} without the review"
        f" that 'review' of the live project.yaml asks for; {old[:SHORT]} stays live",
        f"look at 'git diff {old} {new}', then '{command}' accepts it",
        old=old, new=new, must_name_both=count != 1,
    )  # fmt: skip


async def _hold_large_removal(
    old: str, new: str, fetched: FetchedRevision, at: PublishContext
) -> None:
    request = CheckRemoval(fetched.source, {**fetched.source, "commit": old}, at.engine)
    refused = (await at.build.ask(request, timeout_seconds=COMPARE_SECONDS)).refused
    if refused:
        raise HeldCommit(
            "TooMuchRemoved", refused,
            f"if that is intended, '{accept_command(new, at)}' accepts it", old=old, new=new,
        )  # fmt: skip


# ---- signatures, as `review.signed` of the live rules requires
# Only the keys in the live commit count: a commit cannot add its own signer.

MAX_COMMITS: Final = 500
"""The most commits of one publication whose signatures are checked."""

VERIFY_SECONDS: Final = 120.0
_FIX: Final = "sign with a key that 'review.signed' of the live project.yaml names"


@dataclass(frozen=True, slots=True)
class SignatureGap:
    """The missing signature of one or several new commits.

    Attributes:
        message: the first commit, and why its signature does not count.
        hint: the fix.
        count: the number of new commits.
    """

    message: str
    hint: str
    count: int


async def require_signatures(
    old: str, new: str, built: BuiltRevision, at: PublishContext, *, heads: Mapping[str, str]
) -> None:
    """Hold commits that no signer of the live commit has signed.

    Args:
        old: the live commit.
        new: the commit to publish.
        built: the built commit.
        at: its project.
        heads: by commit that the forge has made, the reviewed head of its pull request.

    Raises:
        HeldCommit: a signature is missing.
        BbopsError: the repository cannot be read.
    """
    gap = await find_signature_gap(old, new, built.source["repository"], at, heads=heads)
    if gap is None:
        return
    command = accept_command(new, at, old="" if gap.count == 1 else old)
    raise HeldCommit(
        "SignatureMissing", f"{gap.message}; {old[:SHORT]} stays live",
        f"{gap.hint}; or look at 'git diff {old} {new}', then '{command}'"
        " accepts it",
        old=old, new=new, must_name_both=gap.count != 1,
    )  # fmt: skip


async def find_live_gap(
    new: str, repository: str, at: PublishContext, *, quarantine: str = ""
) -> SignatureGap | None:
    """Return the gap of a commit behind the live one. Arguments as `find_signature_gap`."""
    old = await asyncio.to_thread(applied_commit, at)
    if old is None or old == new:
        return None
    return await find_signature_gap(old, new, repository, at, quarantine=quarantine)


async def find_signature_gap(
    old: str, new: str, repository: str, at: PublishContext, *,
    heads: Mapping[str, str] | None = None, quarantine: str = "",
) -> SignatureGap | None:  # fmt: skip
    """Return the missing signature of the commits after the live one; None if none is missing.

    A commit on the first-parent line is signed itself, or is a merge without changes of its own
    whose head is signed.

    Args:
        old: the live commit.
        new: the newest commit.
        repository: the folder of the repository.
        at: the project.
        heads: as in `require_signatures`.
        quarantine: the folder with the objects of a push that is not accepted yet.

    Raises:
        BbopsError: the repository cannot be read.
    """
    live = await asyncio.to_thread(read_record, at)
    signed = live.review.get("signed") if live is not None else None
    if not signed:
        return None
    listing = ListArrivals(repository, old, new, MAX_COMMITS + 1, quarantine)
    arrived = (await at.build.ask(listing, timeout_seconds=VERIFY_SECONDS)).commits
    if len(arrived) > MAX_COMMITS:
        why = f"more than {MAX_COMMITS} commits arrived at once, too many to check their signatures"
        return SignatureGap(why, _FIX, len(arrived))
    request = FindUnsigned(
        repository=repository, live=old, folder=at.project.path,
        signers=signed.get("signers") or "", keys=signed.get("keys") or "",
        commits=[*arrived] or [ArrivedCommit(new, (), "", "")], heads=dict(heads or {}),
        quarantine=quarantine,
    )  # fmt: skip
    unsigned = (await at.build.ask(request, timeout_seconds=VERIFY_SECONDS)).commits
    return _describe(unsigned, len(arrived)) if unsigned else None


def _describe(unsigned: list[UnsignedCommit], count: int) -> SignatureGap:
    first = unsigned[0]
    more = f" (and {len(unsigned) - 1} more)" if len(unsigned) > 1 else ""
    why = f"commit {first.commit[:SHORT]} by {one_line(first.author)} {first.why}{more}"
    return SignatureGap(why, first.hint or _FIX, count)
