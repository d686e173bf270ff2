"""The requirements of a merged pull request. Pure: values of the forge in, obstacles out.

Logins are compared without case, as forges do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from bbops_server.forges.values import CheckState, PullRequest, PullReview

MAX_VOICES: Final = 50
"""The most reviewers of a verdict that count; anybody may review a public repository."""

MAX_GRANTERS: Final = 20
"""The most people with an id: each costs a request."""

_SHOWN: Final = 7
_TRAILER: Final = re.compile(
    r"^On-behalf-of:[ \t]*@?([\w.-]+)(?:[ \t]+\(id (\d{1,20})\))?[ \t\r]*$",
    re.MULTILINE | re.IGNORECASE,
)
_COAUTHOR: Final = re.compile(
    r"^Co-authored-by:[^<\n]*<(?:\d+\+)?([\w.-]+)@users\.noreply\.[\w.-]+>[ \t\r]*$",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReviewDemands:
    """The requirements of the live rules, of the plan, and of the forge.

    Attributes:
        approvals: the number of required approvals.
        reasons: why the change needs more approvals than others.
        checks: the names of required checks.
        needs_owners: whether owners of the changed files must approve.
        patterns: patterns of the names of required checks, as of a shell.
    """

    approvals: int
    reasons: tuple[str, ...] = ()
    checks: frozenset[str] = frozenset()
    needs_owners: bool = False
    patterns: frozenset[str] = frozenset()

    def names_among(self, found: Collection[str]) -> Iterator[str]:
        """Yield the names of required checks; a pattern that matches no result stands for one."""
        yield from self.checks
        for pattern in self.patterns:
            yield from [name for name in found if fnmatchcase(name, pattern)] or [pattern]


@dataclass(frozen=True, slots=True)
class PullVoices:
    """The last verdicts of the reviewers of a pull request.

    Attributes:
        approved: the logins of approvals at its head.
        refused: the logins of users who requested changes.
        discounted: reviewers whose approval does not count; a value continues "the approval of …".
    """

    approved: tuple[str, ...]
    refused: tuple[str, ...]
    discounted: Mapping[str, str]

    def of_writers(self, writers: Collection[str]) -> PullVoices:
        """Return the verdicts of users who may write to the repository."""
        strangers = (who for who in self.approved if who not in writers)
        return PullVoices(
            tuple(who for who in self.approved if who in writers),
            tuple(who for who in self.refused if who in writers),
            {**self.discounted, **dict.fromkeys(strangers, "does not count: no right to write")},
        )


def granters_of(text: str) -> frozenset[str]:
    """Return the logins of the people that a bot acted for, in lower case.

    Args:
        text: a pull request's description or commit messages, with the trailer
            `On-behalf-of: LOGIN (id 42)`, or `Co-authored-by` with a login in the address.
    """
    named = [login for login, _ in _TRAILER.findall(text)]
    return frozenset(login.lower() for login in (*named, *_COAUTHOR.findall(text)))


def granter_ids_of(text: str) -> frozenset[str]:
    """Return the ids of these people on the forge, which stay when a login changes."""
    return frozenset(number for _, number in _TRAILER.findall(text) if number)


def explain_granters(text: str) -> str:
    """Return why the trailers of a bot's work are not enough; empty if they name its people."""
    if not granters_of(text):
        return "its author is a bot, and no trailer 'On-behalf-of' names a person"
    is_long = len(granter_ids_of(text)) > MAX_GRANTERS
    return f"its trailers name more than {MAX_GRANTERS} people" if is_long else ""


def find_excluded(
    pull: PullRequest, authors: Collection[str], bots: Collection[str], messages: str,
    renamed: Collection[str] = (),
) -> Mapping[str, str]:  # fmt: skip
    """Return the users whose approval does not count, by their login in lower case.

    Args:
        pull: the pull request.
        authors: the logins of the authors and committers of its commits.
        bots: the logins that the server acts as.
        messages: the messages of its commits.
        renamed: the logins that people with an id in a trailer have now.

    Returns:
        A value continues "the approval of …".
    """
    excluded = {who.lower(): "does not count: an author of some commits" for who in authors}
    if is_of_bot(pull, bots):
        people = granters_of(pull.body) | granters_of(messages) | {who.lower() for who in renamed}
        excluded |= dict.fromkeys(people, "does not count: the bot acted on their behalf")
    excluded |= {who.lower(): "does not count: the server itself" for who in bots}
    return {**excluded, pull.author.lower(): "does not count: the author"}


def is_of_bot(pull: PullRequest, bots: Collection[str]) -> bool:
    """Return whether the server itself opened a pull request."""
    return pull.author.lower() in {who.lower() for who in bots}


def list_voices(
    pull: PullRequest, reviews: Sequence[PullReview], excluded: Mapping[str, str]
) -> PullVoices:
    """Return the last verdict of each reviewer, before their rights are known.

    Args:
        pull: the pull request.
        reviews: its reviews, oldest first; a comment changes no verdict.
        excluded: users whose approval does not count, as of `find_excluded`.
    """
    last = {review.who.lower(): review for review in reviews if review.verdict != "commented"}
    approvals = [review for review in last.values() if review.verdict == "approved"]
    reasons = {review.who: _why_discounted(review, pull, excluded) for review in approvals}
    return PullVoices(
        tuple(who for who, why in reasons.items() if not why)[:MAX_VOICES],
        tuple(review.who for review in last.values() if review.verdict == "refused"),
        {who: why for who, why in reasons.items() if why},
    )


def _why_discounted(review: PullReview, pull: PullRequest, excluded: Mapping[str, str]) -> str:
    if why := excluded.get(review.who.lower()):
        return why
    if review.doubt:
        return review.doubt
    if review.head != pull.head:
        old, new = review.head[:_SHOWN], pull.head[:_SHOWN]
        return f"was of {old}, and {new} was merged"
    return ""


def find_obstacles(
    demands: ReviewDemands,
    voices: PullVoices,
    checks: Mapping[str, CheckState],
    unowned: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    """Yield the messages about missing approvals and checks of a pull request.

    Args:
        demands: the requirements.
        voices: the verdicts of users who may write.
        checks: the results of checks at its head.
        unowned: files that no owner has approved, with their owners.
    """
    if voices.refused:
        yield f"{', '.join(voices.refused[:5])} requested changes"
    missing = demands.approvals - len(voices.approved)
    if missing > 0:
        why = f": {'; '.join(demands.reasons)}" if demands.reasons else ""
        yield f"{missing} more approval{'s' if missing > 1 else ''} needed{why}"
        yield from (f"the approval of {who} {why}" for who, why in voices.discounted.items())
    for name in sorted({*demands.names_among(checks)}):
        if (state := checks.get(name, "missing")) != "success":
            yield f"check '{name}' {_STATES[state]}"
    for file, owners in list(unowned.items())[:3]:
        yield f"'{file}' needs the approval of an owner: {', '.join(owners)}"
    if len(unowned) > 3:
        yield f"{len(unowned) - 3} more files need the approval of an owner"


_STATES: Final = {"pending": "is not complete", "failure": "has failed", "missing": "has not run"}
