"""What a proposal to change a branch is, and what every place that keeps them can do.

The code of proposal 7 is `refs/pull/7/head`, as `git fetch origin pull/7/head` brings it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

State = Literal["open", "merged", "closed"]
Verdict = Literal["approved", "refused", "commented"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

PREVIEW: Final = "proposal-"
"""Begins the branch that shows a proposal as a draft; who keeps it alone moves it."""


def proposal_of(branch: str) -> str:
    """Return the number of the proposal that a branch previews; empty for other branches."""
    found = re.fullmatch(rf"{PREVIEW}([0-9]+)", branch)
    return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class Review:
    """What somebody said of a proposal.

    Attributes:
        who: their e-mail address.
        head: the commit that they looked at.
        plan: the digest of what it would have done then; empty where it could not be said.
    """

    who: str
    at: datetime
    verdict: Verdict
    text: str
    head: str
    plan: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of a branch that somebody asks for.

    Attributes:
        author: their e-mail address.
        target: the branch that is to change.
        topic: what its author calls it in `refs/for/TARGET/TOPIC`.
        head: the commit that is proposed.
        merged: the commit by which it came in; empty while it has not.
        reviews: all that was said of it, the oldest first.
        ready: whether its author wants it to be merged.
        reviewers: the e-mail addresses of those who are asked for a review.
        pushers: those of others than the author whose work is in what is proposed: they pushed
            some of its commits, or have proposed it again.
    """

    number: int
    title: str
    description: str
    author: str
    target: str
    topic: str
    state: State
    head: str
    created: datetime
    changed: datetime
    merged: str = ""
    reviews: tuple[Review, ...] = ()
    ready: bool = True
    reviewers: tuple[str, ...] = ()
    pushers: tuple[str, ...] = ()

    @property
    def authors(self) -> frozenset[str]:
        """Everybody whose work it is."""
        return frozenset({self.author, *self.pushers})


@dataclass(frozen=True, slots=True)
class Wish:
    """What is proposed: `head` in the place of what `target` holds; for the rest see Proposal.

    What is None stays as it is.
    """

    head: str
    target: str
    topic: str
    author: str
    title: str = ""
    description: str = ""
    ready: bool | None = None
    reviewers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a merge would make: a commit that no branch holds, or the files that stand in its way.

    Attributes:
        base: what the target held.
        commit: what it would hold; empty with conflicts.
    """

    base: str
    head: str
    commit: str
    conflicts: tuple[str, ...] = ()
