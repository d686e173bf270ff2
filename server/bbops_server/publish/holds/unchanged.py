"""See that a commit changes nothing of a project: what others do in its repository is not its own.

A project that has its whole repository to itself publishes each commit, once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bbops.source.git.revisions import Revision
from bbops_server.process.messages.repositories import ReadTrees
from bbops_server.publish.holds.rewritten import COMPARE_SECONDS
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import applied_commit
from bbops_server.publish.sources.values import Built, Fetched


@dataclass(frozen=True, slots=True)
class Settled:
    """What went live, and what was known of its source and of what is decided beside it."""

    source: object
    beside: object
    built: tuple[object, ...]

    def covers(self, other: Settled) -> bool:
        """Return whether another attempt, at a source that moved, would publish the same."""
        return self.source != other.source and self._result == other._result

    @property
    def _result(self) -> tuple[object, ...]:
        return self.beside, self.built


def settle(built: Built, source: object, beside: object) -> Settled:
    """Return what a build comes to; `source` and `beside` are stamps."""
    facts = built.facts
    return Settled(source, beside, (facts.digest, facts.frontend, facts.tagged))


async def find_own(newest: Fetched, at: PublishContext) -> Fetched:
    """Return the revision that is live, where the newest has the same files of the project.

    Raises:
        BbopsError: the repository cannot be read.
    """
    is_apart = bool(at.project.path) and not at.tells_callers
    live = await asyncio.to_thread(applied_commit, at) if is_apart else None
    if live is None or live == newest.source["commit"]:
        return newest
    commits = [live, newest.source["commit"]]
    asked = ReadTrees(newest.source["repository"], commits, folder=at.project.path)
    trees = (await at.plane.build.ask(asked, timeout_seconds=COMPARE_SECONDS)).trees
    if live not in trees or trees[live] != trees.get(newest.source["commit"]):
        return newest
    return Fetched(str(Revision(at.project.branch, live)), {**newest.source, "commit": live})
