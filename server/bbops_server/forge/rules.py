"""What it takes to merge a proposal. Pure: by the rules that are live, never by those proposed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bbops.git.proposals import Proposal, Review


@dataclass(frozen=True, slots=True)
class Demands:
    """What the rules and the plan ask for.

    Attributes:
        digest: names the plan; an approval is of this one alone.
        approvals: how many people must agree.
        reasons: why more than every change needs.
        refused: why it cannot be merged, whoever agrees.
    """

    digest: str
    approvals: int
    reasons: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Voices:
    """Who has agreed, whose word counts no more, and who objects."""

    approved: tuple[str, ...]
    outdated: tuple[str, ...]
    refused: tuple[str, ...]


def count_voices(proposal: Proposal, digest: str, *, is_alone: bool = False) -> Voices:
    """Return what the last words of each reviewer amount to.

    Args:
        proposal: with its reviews.
        digest: of what it would do now.
        is_alone: whether its author is the only one who could review; then their word counts.
    """
    last: dict[str, Review] = {}
    for one in proposal.reviews:
        if one.verdict != "commented" and (one.who != proposal.author or is_alone):
            last[one.who] = one
    agreed = [one for one in last.values() if one.verdict == "approved"]
    good = {one.who for one in agreed if one.head == proposal.head and one.plan == digest}
    objects = (one.who for one in last.values() if one.verdict == "refused")
    return Voices(
        tuple(one.who for one in agreed if one.who in good),
        tuple(one.who for one in agreed if one.who not in good),
        tuple(objects),
    )


def find_unready(proposal: Proposal) -> Iterator[str]:
    """Yield why nobody may merge it yet, where its author has said so."""
    if not proposal.ready:
        yield f"it is not ready; its author says when: bbops proposals ready {proposal.number}"


def find_obstacles(demands: Demands, voices: Voices) -> Iterator[str]:
    """Yield what stands in the way of a merge, for people."""
    yield from demands.refused
    if voices.refused:
        yield f"{_list(voices.refused)} asked for changes"
    missing = demands.approvals - len(voices.approved)
    if missing > 0:
        why = f": {'; '.join(demands.reasons)}" if demands.reasons else ""
        yield f"{missing} more approval{'s' if missing > 1 else ''} needed{why}"
        if voices.outdated:
            yield (
                f"the approval of {_list(voices.outdated)} counts no more:"
                " what it would do has changed since"
            )


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
