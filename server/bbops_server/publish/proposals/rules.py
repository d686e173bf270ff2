"""The requirements of a merge. Pure: by the live rules, never by proposed ones."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bbops.source.git.proposals import Proposal, Review

_SHOWN: Final = 7


@dataclass(frozen=True, slots=True)
class MergeRequirements:
    """The requirements of the rules and of the plan.

    Attributes:
        digest: the digest of the plan; an approval is valid for this plan only.
        approvals: the number of required approvals.
        reasons: why the change needs more approvals than others.
        refused: why it cannot be merged, whatever its approvals.
        agents: whether an agent may merge an approved proposal.
    """

    digest: str
    approvals: int
    reasons: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    agents: str = "propose"


def join(own: MergeRequirements, others: Mapping[str, MergeRequirements]) -> MergeRequirements:
    """Return the combined requirements of a change to several projects.

    Args:
        own: the requirements of the proposal's project.
        others: the requirements of other changed projects of the repository, by name.
    """
    if not others:
        return own
    projects = [own, *others.values()]
    digests = " ".join(each.digest for each in projects)
    reasons = [f"{why}, in '{name}'" for name, other in others.items() for why in other.reasons]
    refused = [
        f"project '{name}' of this repository: {why}"
        for name, other in others.items()
        for why in other.refused
    ]
    return MergeRequirements(
        hashlib.sha256(digests.encode()).hexdigest(), max(each.approvals for each in projects),
        (*own.reasons, *reasons), (*own.refused, *refused),
        "merge" if all(each.agents == "merge" for each in projects) else "propose",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EligibleReviewers:
    """The users who may review a proposal now.

    Attributes:
        people: their e-mail addresses; None if no account exists.
        others: whether another user may review a part of it.
    """

    people: frozenset[str] | None = None
    others: bool = False

    def counts(self, who: str, authors: Collection[str]) -> bool:
        """Return whether a user's review counts; an author's counts only without others."""
        if self.people is None:
            return True
        is_alone = self.people == {who} and not self.others
        return who in self.people and (who not in authors or is_alone)

    def may_approve(self, authors: Collection[str]) -> int | None:
        """Return the number of users whose review counts; None if every review does."""
        if self.people is None:
            return None
        return sum(self.counts(who, authors) for who in self.people)


@dataclass(frozen=True, slots=True)
class OutdatedApproval:
    """An approval that no longer counts; `why` continues "the approval of …"."""

    who: str
    why: str


@dataclass(frozen=True, slots=True)
class ReviewTally:
    """Users who approved, whose approval no longer counts, and who requested changes.

    Attributes:
        may_approve: the number of users who may approve; None if everyone may.
    """

    approved: tuple[str, ...]
    outdated: tuple[OutdatedApproval, ...]
    refused: tuple[str, ...]
    may_approve: int | None = None


def tally_reviews(proposal: Proposal, digest: str, eligible: EligibleReviewers) -> ReviewTally:
    """Return the sum of each reviewer's last verdict.

    Users who may no longer review neither approve nor block.

    Args:
        proposal: the proposal with its reviews.
        digest: the digest of its current plan.
        eligible: the users who may review it now.
    """
    last = {review.who: review for review in proposal.reviews if review.verdict != "commented"}
    counted = [each for each in last.values() if eligible.counts(each.who, proposal.authors)]
    approvals = [review for review in counted if review.verdict == "approved"]
    reasons = {review.who: _why_outdated(review, proposal, digest) for review in approvals}
    former = [
        OutdatedApproval(review.who, _why_former(review.who, proposal))
        for review in last.values()
        if review.verdict == "approved" and review not in counted and review.who != proposal.author
    ]
    outdated = (OutdatedApproval(who, why) for who, why in reasons.items() if why)
    return ReviewTally(
        tuple(who for who, why in reasons.items() if not why),
        (*outdated, *former),
        tuple(review.who for review in counted if review.verdict == "refused"),
        eligible.may_approve(proposal.authors),
    )


def _why_former(who: str, proposal: Proposal) -> str:
    if who in proposal.pushers:
        return "does not count: they are an author of some commits"
    return "no longer counts: they are no longer allowed to review"


def _why_outdated(review: Review, proposal: Proposal, digest: str) -> str:
    if review.head != proposal.head:
        old, new = review.head[:_SHOWN], proposal.head[:_SHOWN]
        return f"was of {old}, and {new} has been pushed since"
    if review.plan != digest:
        return (
            f"no longer counts: '{proposal.target}' or the data has changed since,"
            " which changes the effect of the merge"
        )
    return ""


def find_unready(proposal: Proposal) -> Iterator[str]:
    """Yield why it is not ready, if its author has marked it so."""
    if not proposal.ready:
        ready = f"bbops proposals ready {proposal.number}"
        yield f"it is not ready; its author can mark it as ready: {ready}"


def find_obstacles(demands: MergeRequirements, voices: ReviewTally) -> Iterator[str]:
    """Yield the messages about missing or outdated approvals and other requirements."""
    yield from demands.refused
    if voices.refused:
        yield f"{_list(voices.refused)} requested changes"
    missing = demands.approvals - len(voices.approved)
    if missing > 0:
        why = f": {'; '.join(demands.reasons)}" if demands.reasons else ""
        yield f"{missing} more approval{'s' if missing > 1 else ''} needed{why}"
        yield from (
            f"the approval of {outdated.who} {outdated.why}" for outdated in voices.outdated
        )
        if voices.may_approve is not None and voices.may_approve < demands.approvals:
            yield (
                f"not enough reviewers: {demands.approvals} must approve, {voices.may_approve} can,"
                " since authors cannot approve their own work; give another user a role that"
                " reviews, or propose the commits of each author separately"
            )


def explain_approval(
    who: str, proposal: Proposal, demands: MergeRequirements, voices: ReviewTally,
    eligible: EligibleReviewers,
) -> str:  # fmt: skip
    """Return whether an approval by a user would count, and why, as a sentence.

    Args:
        who: the e-mail address of the user.
        proposal: an open proposal.
        demands: the requirements of its merge.
        voices: its reviews so far.
        eligible: the users who may review it now.
    """
    given = len(voices.approved)
    needed = f"{demands.approvals} needed, {given} given" if demands.approvals else "none is needed"
    if not eligible.counts(who, proposal.authors):
        why = (
            "you are an author of this change"
            if who in proposal.authors
            else "your role does not cover all of this change"
        )
        return f"Your approval does not count, because {why}. Approvals: {needed}."
    own = ", although you are its author: no other user may review it"
    return f"Your approval counts{own if who in proposal.authors else ''}. Approvals: {needed}."


def find_missing_person(demands: MergeRequirements) -> str:
    """Return why an agent may not merge; empty if the project allows it."""
    if demands.agents == "merge":
        return ""
    return "a person merges it: 'review.agents' of the project is 'propose'"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
