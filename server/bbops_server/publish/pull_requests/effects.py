"""The effect of merging a pull request, read from git and from the live data.

The merge is made in a repository beside the mirror, and no branch of it moves. Commits of forks are
compiled and planned like others, but their tests do not run on this server.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.errors import BbopsError, GitError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProposalTestResult
from bbops.review.plan.plan import Document
from bbops.source.git.arrivals import list_changed, require_listable
from bbops.source.git.place import Place, find_repository
from bbops.source.git.store import Store
from bbops.source.git.writing import Identity, make_commit, merge_trees
from bbops_server.publish.impact.impact import TEST_SECONDS, HostedProject, ImpactReader

AUTHOR: Final = Identity("bbops", "bbops@localhost")


@dataclass(frozen=True, slots=True)
class PullEffect:
    """The effect of a merge on a project.

    Attributes:
        head: the proposed commit.
        is_changed: whether the merge changes files of the project.
        conflicts: the files that block the merge; if there are any, nothing else is known.
        document: the plan; None if it cannot be made.
        tests: the results of the tests; None if they did not run.
        refused: why a merge would not go live, such as a missing value.
        is_gated: whether failing tests keep the merge from going live.
        problem: why nothing is known; empty if it is.
    """

    head: str
    is_changed: bool = True
    conflicts: tuple[str, ...] = ()
    diagnostics: tuple[JsonDiagnostic, ...] = ()
    document: Document | None = None
    tests: ProposalTestResult | None = None
    refused: tuple[str, ...] = ()
    is_gated: bool = False
    problem: str = ""

    @property
    def errors(self) -> int:
        """The number of errors in the merged project."""
        return sum(found.severity == "error" for found in self.diagnostics)


class EffectReader:
    """Reads the effects of pull requests on one project."""

    def __init__(self, reader: ImpactReader, project: HostedProject) -> None:
        """Args: `project`: its source is the repository of the heads."""
        self._reader, self._project = reader, project

    async def read(self, number: int, base: str, head: str, *, runs_tests: bool) -> PullEffect:
        """Return the effect of merging a head into a base; waits for its tests.

        Args:
            number: the number of the pull request.
            base: the newest commit of its target.
            head: the proposed commit.
            runs_tests: whether its tests run.
        """
        place = self._project.source.place
        try:
            commit, conflicts = await asyncio.to_thread(merge, place, base, head)
            if conflicts:
                return PullEffect(head, conflicts=conflicts)
            if not await self._reader.is_changed(self._project, base, commit):
                return PullEffect(head, is_changed=False)
            return await self._read(number, base, commit, head, runs_tests=runs_tests)
        except BbopsError as error:
            return PullEffect(head, problem=error.message)

    async def _read(
        self, number: int, base: str, commit: str, head: str, *, runs_tests: bool
    ) -> PullEffect:
        answer = await self._reader.plan(self._project, base, commit)
        if not runs_tests:
            answer = msgspec.structs.replace(answer, tree="")  # no tree, no tests
        folder = self._project.at.project.state / "proposals" / str(number)
        impact = await self._reader.read_impact(
            self._project, commit, answer, str(folder), wait_seconds=TEST_SECONDS
        )
        document = msgspec.convert(impact.plan, Document) if impact.plan is not None else None
        return PullEffect(
            head, diagnostics=impact.diagnostics, document=document, tests=impact.tests,
            refused=(*answer.refused, *impact.obstacles), is_gated=impact.is_gated,
        )  # fmt: skip


def merge(place: Place, base: str, head: str) -> tuple[str, tuple[str, ...]]:
    """Return the commit of a merge, or the files in conflict. Blocks.

    The commit is the head if that contains the base.

    Raises:
        GitError: a commit is missing, the two have no common history, or the head has too many
            files.
    """
    require_listable(place, head)
    if Store(place).is_ancestor(base, head):
        return head, ()
    merged = merge_trees(place, base, head)
    if merged.conflicts:
        return "", merged.conflicts
    return make_commit(place, merged.tree, (base, head), "Merge for a preview", AUTHOR), ()


def list_merged(mirror: Path, base: str, head: str) -> tuple[str, ...] | None:
    """Return the paths that a merge of a head changes; None if they are too many. Blocks.

    Args:
        mirror: the mirror of the branches.
        base: the newest commit of the target.
        head: the proposed commit.

    Raises:
        GitError: as `merge`, or they conflict.
    """
    place = find_repository(heads_folder(mirror))
    commit, conflicts = merge(place, base, head)
    if conflicts:
        raise GitError(f"merge conflict in {len(conflicts)} files")
    return list_changed(place, base, commit)


def heads_folder(mirror: Path) -> Path:
    """Return the repository of the heads of pull requests, beside a mirror."""
    return mirror.parent / "pull-heads"
