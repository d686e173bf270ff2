"""What it takes to merge a proposal. Pure: by the rules that are live, never by those proposed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bbops.source.git.proposals import Proposal, Review

_SHOWN: Final = 7


@dataclass(frozen=True, slots=True)
class Demands:
    """What the rules and the plan ask for.

    Attributes:
        digest: names the plan; an approval is of this one alone.
        approvals: how many people must agree.
        reasons: why more than every change needs.
        refused: why it cannot be merged, whoever agrees.
        agents: whether an agent may merge what people have agreed to.
    """

    digest: str
    approvals: int
    reasons: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    agents: str = "propose"


def join(own: Demands, others: Mapping[str, Demands]) -> Demands:
    """Return what a change of several projects takes: all that each of them asks for.

    Args:
        own: of the project that it was proposed to.
        others: of those beside it in the repository whose files it changes, by name.
    """
    if not others:
        return own
    every = [own, *others.values()]
    digests = " ".join(one.digest for one in every)
    reasons = [f"{why}, in '{name}'" for name, one in others.items() for why in one.reasons]
    refused = [
        f"project '{name}' of this repository: {why}"
        for name, one in others.items()
        for why in one.refused
    ]
    return Demands(
        hashlib.sha256(digests.encode()).hexdigest(), max(one.approvals for one in every),
        (*own.reasons, *reasons), (*own.refused, *refused),
        "merge" if all(one.agents == "merge" for one in every) else "propose",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Eligible:
    """Who may review what a proposal changes now.

    Attributes:
        people: their e-mail addresses; None while nobody has an account.
        others: whether somebody else may review a part of it.
    """

    people: frozenset[str] | None = None
    others: bool = False

    def counts(self, who: str, authors: Collection[str]) -> bool:
        """Return whether somebody's word counts: an author's only where nobody else has one."""
        if self.people is None:
            return True
        is_alone = self.people == {who} and not self.others
        return who in self.people and (who not in authors or is_alone)

    def may_approve(self, authors: Collection[str]) -> int | None:
        """Return how many people's word counts; None where everybody's does."""
        if self.people is None:
            return None
        return sum(self.counts(who, authors) for who in self.people)


@dataclass(frozen=True, slots=True)
class Outdated:
    """An approval that no longer counts, and why: as it goes on after "the approval of …"."""

    who: str
    why: str


@dataclass(frozen=True, slots=True)
class Voices:
    """Who has agreed, whose approval no longer counts, and who asks for changes.

    Attributes:
        may_approve: how many people could agree; None where everybody may.
    """

    approved: tuple[str, ...]
    outdated: tuple[Outdated, ...]
    refused: tuple[str, ...]
    may_approve: int | None = None


def count_voices(proposal: Proposal, digest: str, eligible: Eligible) -> Voices:
    """Return what the last words of each reviewer amount to.

    Who may no longer review neither approves nor blocks.

    Args:
        proposal: with its reviews.
        digest: of what it would do now.
        eligible: who may review it now.
    """
    last = {one.who: one for one in proposal.reviews if one.verdict != "commented"}
    counted = [one for one in last.values() if eligible.counts(one.who, proposal.authors)]
    agreed = [one for one in counted if one.verdict == "approved"]
    why = {one.who: _why_outdated(one, proposal, digest) for one in agreed}
    gone = [
        Outdated(one.who, _why_gone(one.who, proposal))
        for one in last.values()
        if one.verdict == "approved" and one not in counted and one.who != proposal.author
    ]
    return Voices(
        tuple(one.who for one in agreed if not why[one.who]),
        (*(Outdated(one.who, why[one.who]) for one in agreed if why[one.who]), *gone),
        tuple(one.who for one in counted if one.verdict == "refused"),
        eligible.may_approve(proposal.authors),
    )


def _why_gone(who: str, proposal: Proposal) -> str:
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
    """Yield why nobody may merge it yet, where its author has said so."""
    if not proposal.ready:
        ready = f"bbops proposals ready {proposal.number}"
        yield f"it is not ready; its author can mark it as ready: {ready}"


def find_obstacles(demands: Demands, voices: Voices) -> Iterator[str]:
    """Yield what stands in the way of a merge, for people."""
    yield from demands.refused
    if voices.refused:
        yield f"{_list(voices.refused)} requested changes"
    missing = demands.approvals - len(voices.approved)
    if missing > 0:
        why = f": {'; '.join(demands.reasons)}" if demands.reasons else ""
        yield f"{missing} more approval{'s' if missing > 1 else ''} needed{why}"
        yield from (f"the approval of {one.who} {one.why}" for one in voices.outdated)
        if voices.may_approve is not None and voices.may_approve < demands.approvals:
            yield (
                f"not enough reviewers: {demands.approvals} must approve, {voices.may_approve} can,"
                " since authors cannot approve their own work; give somebody else a role that"
                " reviews, or propose the commits of each author separately"
            )


def find_missing_person(demands: Demands) -> str:
    """Return why an agent may not merge; empty where the project lets it."""
    if demands.agents == "merge":
        return ""
    return "a person merges it: 'review.agents' of the project is 'propose'"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
