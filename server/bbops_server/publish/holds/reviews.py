"""Hold what came into the live branch past the rules of review that are live.

Our own git refuses such a push, and merges only what was reviewed. A repository elsewhere takes
what it takes: there nothing proves a review, so what arrives waits for somebody with the right to
accept it. How much of a project may go at once counts for every way in.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from bbops_server.process.messages.builds import CheckRemoval
from bbops_server.process.messages.repositories import CountCommits
from bbops_server.publish.holds.held import SHORT, Held, accepting, read_accepted
from bbops_server.publish.holds.rewritten import COMPARE_SECONDS
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import LiveRecord, applied_commit, read_record
from bbops_server.publish.sources.values import Fetched

_log = logging.getLogger(__name__)


async def keep_reviews(fetched: Fetched, at: PublishContext) -> None:
    """Refuse a commit that the live rules of review do not let through, unless it was accepted.

    Raises:
        Held: somebody has to decide.
    """
    old = None if at.tells_callers else applied_commit(at)
    new = fetched.source.get("commit", "")
    if old is None or old == new or read_accepted(at, old) == new:
        return
    live = read_record(at)
    rules = live.review if live is not None else {}
    if is_held_elsewhere(rules, at):
        raise await _missing(old, new, fetched, at)
    if rules.get("max_removed_percent") is not None:
        await _keep_size(old, new, fetched, at)


def is_held_elsewhere(rules: Mapping[str, Any], at: PublishContext) -> bool:
    """Return whether what is pushed to the repository elsewhere needs somebody's word."""
    return at.source.is_elsewhere and not at.is_draft and rules.get("main") == "proposals"


def warn_of_reviews(live: LiveRecord, at: PublishContext) -> None:
    """Say once at a start that the next commit waits, where the last one did not have to.

    Args:
        live: the record of what is live.
        at: its project.
    """
    if not live.holds_reviews and is_held_elsewhere(live.review, at):
        _log.warning(
            "project '%s' says 'review: { main: proposals }', which now holds for commits pushed to"
            " %s, too: each waits until 'bbops accept' accepts it",
            live.project or at.project.name, at.source.shown,
        )  # fmt: skip


async def _missing(old: str, new: str, fetched: Fetched, at: PublishContext) -> Held:
    asked = CountCommits(fetched.source["repository"], old, new)
    count = (await at.build.ask(asked, timeout_seconds=COMPARE_SECONDS)).count
    arrived = f"commit {new[:SHORT]} has" if count < 2 else f"{count} commits have"
    command = accepting(new, at, old="" if count == 1 else old)
    return Held(
        "ReviewMissing",
        f"{arrived} arrived in branch '{at.project.branch}' of {at.source.shown} without the review"
        f" that 'review' of the live project.yaml asks for; {old[:SHORT]} stays live",
        f"look at 'git diff {old[:SHORT]} {new[:SHORT]}', then '{command}' accepts it",
        old=old, new=new, must_name_both=count != 1,
    )  # fmt: skip


async def _keep_size(old: str, new: str, fetched: Fetched, at: PublishContext) -> None:
    asked = CheckRemoval(fetched.source, {**fetched.source, "commit": old}, at.engine)
    refused = (await at.build.ask(asked, timeout_seconds=COMPARE_SECONDS)).refused
    if refused:
        raise Held(
            "TooMuchRemoved", refused,
            f"if that is intended, '{accepting(new, at)}' accepts it", old=old, new=new,
        )  # fmt: skip
