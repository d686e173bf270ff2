"""Assign new commits of a branch to the merged pull requests that brought them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bbops_server.forges.values import PullRequest
from bbops_server.process.messages.reviews import ArrivedCommit


@dataclass(frozen=True, slots=True)
class MergedPull:
    """A pull request, and the commits by which it came to a branch, oldest first.

    A merge and a squash have one commit, a rebase one for each commit of its branch.
    """

    pull: PullRequest
    commits: tuple[ArrivedCommit, ...]

    @property
    def base(self) -> str:
        """The branch's commit before."""
        return self.commits[0].parents[0]

    @property
    def merged(self) -> ArrivedCommit:
        """The branch's commit after."""
        return self.commits[-1]

    @property
    def has_head(self) -> bool:
        """Whether its head is a parent of the merge commit."""
        return self.merged.parents[1:] == (self.pull.head,)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The merged pull requests of new commits, and the commits without one; newest first."""

    merged: tuple[MergedPull, ...]
    uncovered: tuple[ArrivedCommit, ...]


def find_coverage(
    commits: Sequence[ArrivedCommit], pulls: Mapping[str, Sequence[PullRequest]], branch: str
) -> Coverage:
    """Return which pull request has brought each commit.

    Args:
        commits: the commits on the first-parent line, oldest first.
        pulls: the pull requests that the forge names for each commit.
        branch: the branch that they were merged into.
    """
    own = {
        commit: [pull for pull in found if pull.state == "merged" and pull.target == branch]
        for commit, found in pulls.items()
    }
    merged, uncovered, end = list[MergedPull](), list[ArrivedCommit](), len(commits)
    while end:
        last = commits[end - 1]
        candidates = [
            MergedPull(pull, tuple(commits[_find_start(commits, end, pull, own) : end]))
            for pull in own.get(last.commit, ())
            if _ends_at(pull, last) and len(last.parents) in {1, 2}
        ]
        if candidates:
            merged.append(max(candidates, key=_rank))
            end -= len(merged[-1].commits)
        else:
            uncovered.append(last)
            end -= 1
    return Coverage(tuple(merged), tuple(uncovered))


def _ends_at(pull: PullRequest, commit: ArrivedCommit) -> bool:
    """Return whether a commit completes the merge of a pull request, also of one by hand.

    After a merge by hand, a forge may name the head as the merged commit.
    """
    by_hand = pull.head in {commit.commit, *commit.parents[1:]}
    return pull.merged == commit.commit or by_hand


def _rank(candidate: MergedPull) -> tuple[bool, int, int]:
    """Return the rank of one of several pull requests: by its head, its commits, its age."""
    return candidate.has_head, len(candidate.commits), -candidate.pull.number


def _find_start(
    commits: Sequence[ArrivedCommit], end: int, pull: PullRequest,
    own: Mapping[str, Sequence[PullRequest]],
) -> int:  # fmt: skip
    """Return the place of the first of the rebased commits that end at `end`."""
    start = end - 1
    if len(commits[start].parents) > 1:
        return start
    while start and _is_rebased(commits[start - 1], pull, own, end - start):
        start -= 1
    return start


def _is_rebased(
    commit: ArrivedCommit, pull: PullRequest, own: Mapping[str, Sequence[PullRequest]], known: int
) -> bool:
    """Return whether a commit is one of a rebase of which the later `known` ones are known."""
    found = own.get(commit.commit, ())
    is_end = any(_ends_at(each, commit) for each in found)
    is_of_pull = any(each.number == pull.number for each in found) or (
        not found and known < pull.commits
    )
    return len(commit.parents) == 1 and is_of_pull and not is_end
