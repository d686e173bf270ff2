"""Detect commits that do not change a project, because they are about other projects.

A project with a repository of its own publishes every commit.
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
    """A publication, and the stamps at which it was made.

    Attributes:
        source: the stamp of the source.
        beside: the stamps of env values, approvals and suspensions.
        built: the identity of the build.
    """

    source: object
    beside: tuple[object, ...]
    built: tuple[object, ...]

    def covers(self, other: Settled) -> bool:
        """Return whether another attempt at a newer source would publish the same."""
        return self.source != other.source and self._result == other._result

    def differs_in_env(self, stamp: tuple[object, tuple[object, ...]]) -> bool:
        """Return whether env values are all that has changed since."""
        source, beside = stamp
        return source == self.source and beside != self.beside and beside[1:] == self.beside[1:]

    @property
    def _result(self) -> tuple[object, ...]:
        return self.beside, self.built


def settle(built: Built, source: object, beside: tuple[object, ...]) -> Settled:
    """Return the publication of a build at two stamps."""
    facts = built.facts
    return Settled(source, beside, (facts.digest, facts.frontend, facts.tagged))


async def find_own(newest: Fetched, at: PublishContext) -> Fetched:
    """Return the live revision if the newest has the same files of the project.

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
