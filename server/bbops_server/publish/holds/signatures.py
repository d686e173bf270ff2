"""Hold commits without the signature that `review.signed` of the live rules demands.

Only the keys in the live commit count: a commit cannot add its own signer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from bbops.base.render import one_line
from bbops_server.process.messages.reviews import ArrivedCommit, FindUnsigned, UnsignedCommit
from bbops_server.publish.holds.forge_reviews import list_arrivals
from bbops_server.publish.holds.held import SHORT, HeldCommit, accept_command
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.values import BuiltRevision

MAX_COMMITS: Final = 500
VERIFY_SECONDS: Final = 120.0


async def require_signatures(
    old: str, new: str, built: BuiltRevision, at: PublishContext, *, heads: Mapping[str, str]
) -> None:
    """Hold commits that no signer of the live commit has signed.

    A commit on the first-parent line is signed itself, or is a merge without changes of its own
    whose head is signed.

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
    arrived = await list_arrivals(old, new, built, at, most=MAX_COMMITS + 1)
    if len(arrived) > MAX_COMMITS:
        why = f"more than {MAX_COMMITS} commits arrived at once, whose signatures are not checked"
        raise _held(why, "", old, new, len(arrived), at)
    live = await asyncio.to_thread(read_record, at)
    signed = (live.review.get("signed") if live is not None else None) or {}
    request = FindUnsigned(
        repository=built.source["repository"], live=old, folder=at.project.path,
        signers=signed.get("signers") or "", keys=signed.get("keys") or "",
        commits=[*arrived] or [ArrivedCommit(new, (), "", "")], heads=dict(heads),
    )  # fmt: skip
    unsigned = (await at.build.ask(request, timeout_seconds=VERIFY_SECONDS)).commits
    if unsigned:
        raise _unsigned(unsigned, old, new, len(arrived), at)


def _unsigned(
    unsigned: list[UnsignedCommit], old: str, new: str, count: int, at: PublishContext
) -> HeldCommit:
    first = unsigned[0]
    more = f" (and {len(unsigned) - 1} more)" if len(unsigned) > 1 else ""
    why = f"commit {first.commit[:SHORT]} by {one_line(first.author)} {first.why}{more}"
    return _held(why, first.hint, old, new, count, at)


def _held(why: str, hint: str, old: str, new: str, count: int, at: PublishContext) -> HeldCommit:
    command = accept_command(new, at, old="" if count == 1 else old)
    fix = hint or "sign with a key that 'review.signed' of the live project.yaml names"
    return HeldCommit(
        "SignatureMissing", f"{why}; {old[:SHORT]} stays live",
        f"{fix}; or look at 'git diff {old[:SHORT]} {new[:SHORT]}', then '{command}' accepts it",
        old=old, new=new, must_name_both=count != 1,
    )  # fmt: skip
