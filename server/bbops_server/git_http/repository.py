"""The repository of an address, the projects that follow it, and the rights of a user in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bbops.base.errors import GitError
from bbops.source.git.place import Place
from bbops_server.accounts.rules import Caller, Permission, may
from bbops_server.git_http.backend import Refusal
from bbops_server.git_http.refs import Rights
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.loop import Reconciler


@dataclass(frozen=True, slots=True)
class Follower:
    """A project, and the branch of a repository here that it follows."""

    reconciler: Reconciler
    source: BranchSource

    @property
    def name(self) -> str:
        """The project's name."""
        return self.reconciler.board.name


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository on this machine, addressed by project `name`, with all projects that follow it.

    Reading it needs the right to read each of the projects. A push needs rights in the projects
    whose files it changes.
    """

    name: str
    place: Place
    followers: tuple[Follower, ...]
    drafts: tuple[ProjectDrafts, ...] = ()

    @property
    def folder(self) -> Path:
        """The git directory."""
        return self.place.common_dir

    def allows(self, caller: Caller, permission: Permission) -> bool:
        """Return whether a caller has a permission in every project that follows it."""
        return all(may(caller, permission, follower.name) for follower in self.followers)

    @property
    def main(self) -> Reconciler:
        """The publishing loop of the addressed project."""
        return self._addressed.reconciler

    @property
    def main_branch(self) -> str:
        """The branch of the addressed project."""
        return self._addressed.source.branch

    @property
    def folder_of_main(self) -> str:
        """The folder of the addressed project in the repository; empty for the root."""
        return self._addressed.source.path

    @property
    def _addressed(self) -> Follower:
        return next(follower for follower in self.followers if follower.name == self.name)

    def of_branch(self, branch: str) -> tuple[Follower, ...]:
        """Return the projects that follow a branch."""
        return tuple(found for found in self.followers if found.source.branch == branch)

    def visible(self, caller: Caller) -> tuple[str, ...]:
        """Return the pathspecs of the files that a caller may read; none if they may read all.

        A caller who may not read every project sees the folder of the addressed one.
        """
        hidden = {
            follower.source.path for follower in self.followers
            if not may(caller, Permission.READ_PROJECT, follower.name)
        }  # fmt: skip
        if not hidden:
            return ()
        own = self.folder_of_main
        root = f"{own}/" if own else ""
        inside = sorted(path for path in hidden - {own, ""} if path.startswith(root))
        return (
            f":(literal){own}" if own else ".",
            *(f":(exclude,literal){path}" for path in inside),
        )

    @property
    def reviewed(self) -> frozenset[str]:
        """The live branches that change by proposals only."""
        return frozenset(
            follower.source.branch for follower in self.followers
            if follower.reconciler.review.get("main") == "proposals"
        )  # fmt: skip

    def rights(self, caller: Caller) -> Rights:
        """Return the rights of a caller who pushes."""
        return Rights(
            live={follower.source.branch for follower in self.followers},
            reviewed=self.reviewed,
            may_publish=self.allows(caller, Permission.PUSH_MAIN),
            may_tag=self.allows(caller, Permission.PUSH_DRAFT),
            proposed=self.main_branch,
        )  # fmt: skip


def knows(projects: ServerProjects, name: str) -> bool:
    """Return whether there is a project with this name."""
    return any(project.board.name == name for project in projects.reconcilers())


def find_repository(projects: ServerProjects, name: str) -> Repository:
    """Return the repository of a project that exists.

    Raises:
        Refusal: it is not on this machine, or not there now.
    """
    every = tuple(projects.reconcilers())
    source = next(project.source for project in every if project.board.name == name)
    if isinstance(source, RemoteSource):
        raise Refusal(403, f"project '{name}' is kept elsewhere: clone and push {source.shown}")
    if not isinstance(source, BranchSource):
        raise Refusal(403, f"project '{name}' is served from a folder; only commits are pushed")
    try:
        place = source.place
    except GitError as error:
        raise Refusal(503, error.message) from None
    followers = tuple(_find_followers(every, place))
    drafts = tuple(filter(None, (projects.drafts(follower.name) for follower in followers)))
    return Repository(name, place, followers, drafts)


def _find_followers(every: Iterable[Reconciler], place: Place) -> Iterable[Follower]:
    for reconciler in every:
        source = reconciler.source
        if isinstance(source, BranchSource) and _is_at(source, place):
            yield Follower(reconciler, source)


def _is_at(source: BranchSource, place: Place) -> bool:
    try:
        return source.place.common_dir.samefile(place.common_dir)
    except (GitError, OSError):
        return False


# ---- The parts of a proposal that a user may see: nothing of projects that they may not read
# Obstacles name files of such projects, so the user only sees that there are some.


def show_to(merge_status: MergeStatus, repository: Repository, caller: Caller) -> MergeStatus:
    """Return the merge status of a proposal as a caller may see it."""
    if repository.allows(caller, Permission.READ_PROJECT):
        return merge_status
    seen = tuple(
        other for other in merge_status.others
        if may(caller, Permission.READ_PROJECT, other.project)
    )  # fmt: skip
    hidden = len(merge_status.others) - len(seen)
    if hidden:
        projects = "another project" if hidden == 1 else f"{hidden} other projects"
        why = f"it changes {projects} of this repository that you cannot read"
        return replace(_hide(merge_status, why), others=seen, hidden=hidden)
    return (
        merge_status
        if merge_status.shares
        else _hide_files(merge_status, repository.folder_of_main)
    )


def _hide_files(merge_status: MergeStatus, folder: str) -> MergeStatus:
    """Return a status with conflicts, without the conflicting files outside of a folder."""
    candidate = merge_status.candidate
    conflicts: Sequence[str] = candidate.conflicts if candidate else ()
    inside = tuple(path for path in conflicts if path.startswith(f"{folder}/"))
    if candidate is None or (inside and len(inside) == len(conflicts)):
        return merge_status
    why = "files of this repository that you cannot read conflict with it"
    return replace(_hide(merge_status, why), candidate=replace(candidate, conflicts=inside))


def _hide(merge_status: MergeStatus, why: str) -> MergeStatus:
    if merge_status.ended or not merge_status.obstacles:
        return merge_status
    return replace(merge_status, obstacles=(f"{why}; people with access see which",))
