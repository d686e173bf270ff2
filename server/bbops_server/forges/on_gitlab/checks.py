"""The checks of a commit on GitLab: jobs of its pipelines, and statuses that users have posted.

Any developer may post a status under any name, also under a job's, which then replaces the job in
GitLab's own list. So jobs and the statuses of the server's user count; a status of another user can
block a merge, and never allow one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from bbops_server.forges.on_gitlab.project import GitLabProject
from bbops_server.forges.on_gitlab.shapes import GitLabId, GitLabStatus
from bbops_server.forges.values import CheckState

CHECKS: Final = "the role Developer"
"""The role that reads jobs of pipelines."""

_WORST: Final[Mapping[CheckState, int]] = {"success": 0, "pending": 1, "failure": 2}


def count_checks(
    statuses: Iterable[GitLabStatus], jobs: Collection[int], own: int
) -> Mapping[str, CheckState]:  # fmt: skip
    """Return the results that count, by name; of several results of a name, the worst one.

    Args:
        statuses: all statuses of a commit, also replaced ones.
        jobs: the ids of those that are jobs of its pipelines.
        own: the id of the server's user.
    """
    newest_jobs, posted = dict[str, GitLabStatus](), dict[tuple[str, int], GitLabStatus]()
    for status in sorted(statuses, key=lambda each: each.id):
        if status.id in jobs:
            newest_jobs[status.name] = status
        else:
            posted[status.name, status.author_id] = status
    checks = {name: job.value() for name, job in newest_jobs.items()}
    for (name, author), status in posted.items():
        job, value = newest_jobs.get(name), status.value()
        is_replaced = job is not None and job.id > status.id
        if author == own != 0 or (value != "success" and not is_replaced):
            checks[name] = max(checks.get(name, value), value, key=_WORST.__getitem__)
    return checks


class GitLabChecks(GitLabProject):
    """Reads the checks of commits."""

    async def list_checks(self, commit: str) -> Mapping[str, CheckState]:
        """Return the newest result of each job of a commit, and of each status that counts."""
        path = f"{await self.find_root()}/repository/commits/{commit}/statuses"
        statuses = await self.read_pages(path, list[GitLabStatus], right=CHECKS, all="true")
        own = await self.own_id()
        are_own = all(status.author_id == own != 0 for status in statuses)
        jobs = frozenset[int]() if are_own else await self._find_jobs(commit)
        return count_checks(statuses, jobs, own)

    async def _find_jobs(self, commit: str) -> frozenset[int]:
        """Return the ids of the jobs of a commit's pipelines; none without CI/CD."""
        root = await self.find_root()
        try:
            pipelines = await self.read_pages(
                f"{root}/pipelines", list[GitLabId], right=CHECKS, sha=commit
            )
        except (ForgeForbidden, ForgeGone):
            return frozenset()
        found = set[int]()
        for pipeline in pipelines:
            for kind in ("jobs", "bridges"):
                path = f"{root}/pipelines/{pipeline.id}/{kind}"
                jobs = await self.read_pages(
                    path, list[GitLabId], right=CHECKS, include_retried="true"
                )  # fmt: skip
                found.update(job.id for job in jobs)
        return frozenset(found)
