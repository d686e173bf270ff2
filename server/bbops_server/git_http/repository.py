"""Which repository an address names, who follows it, and what somebody may do with it."""

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
        """The project's."""
        return self.reconciler.board.name


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository on this machine, asked for as project `name`, with all that follow it.

    Who may not read one of them may not read it. Who changes it changes those whose files differ.
    """

    name: str
    place: Place
    followers: tuple[Follower, ...]
    drafts: tuple[ProjectDrafts, ...] = ()

    @property
    def folder(self) -> Path:
        """What git knows it by."""
        return self.place.common_dir

    def allows(self, caller: Caller, permission: Permission) -> bool:
        """Return whether somebody may do something with every project that follows it."""
        return all(may(caller, permission, one.name) for one in self.followers)

    @property
    def main(self) -> Reconciler:
        """The loop of the project it was asked for as."""
        return next(one.reconciler for one in self.followers if one.name == self.name)

    @property
    def main_branch(self) -> str:
        """The branch of the project it was asked for as."""
        return next(one.source.branch for one in self.followers if one.name == self.name)

    @property
    def folder_of_main(self) -> str:
        """The folder in it of the project it was asked for as; empty where it is at the root."""
        return next(one.source.path for one in self.followers if one.name == self.name)

    def of_branch(self, branch: str) -> tuple[Follower, ...]:
        """Return those that follow a branch."""
        return tuple(one for one in self.followers if one.source.branch == branch)

    def visible(self, caller: Caller) -> tuple[str, ...]:
        """Return the pathspecs of the files that somebody may see; none where that is all.

        Who may not read every project in it sees the folder of the one that was asked for.
        """
        hidden = {one.source.path for one in self.followers
                  if not may(caller, Permission.READ_PROJECT, one.name)}  # fmt: skip
        if not hidden:
            return ()
        own = self.folder_of_main
        root = f"{own}/" if own else ""
        inside = sorted(path for path in hidden - {own, ""} if path.startswith(root))
        return (f":(literal){own}" if own else ".", *(f":(exclude,literal){one}" for one in inside))

    @property
    def reviewed(self) -> frozenset[str]:
        """The live branches that change by proposals alone."""
        return frozenset(
            one.source.branch for one in self.followers
            if one.reconciler.review.get("main") == "proposals"
        )  # fmt: skip

    def rights(self, caller: Caller) -> Rights:
        """Return what a push of somebody may do."""
        return Rights(
            live={one.source.branch for one in self.followers},
            reviewed=self.reviewed,
            may_publish=self.allows(caller, Permission.PUSH_MAIN),
            may_tag=self.allows(caller, Permission.PUSH_DRAFT),
            proposed=self.main_branch,
        )  # fmt: skip


def knows(projects: ServerProjects, name: str) -> bool:
    """Return whether there is a project of this name."""
    return any(one.board.name == name for one in projects.reconcilers())


def find_repository(projects: ServerProjects, name: str) -> Repository:
    """Return the repository of a project that there is.

    Raises:
        Refusal: it is not on this machine, or not there now.
    """
    every = tuple(projects.reconcilers())
    source = next(one.source for one in every if one.board.name == name)
    if isinstance(source, RemoteSource):
        raise Refusal(403, f"project '{name}' is kept elsewhere: clone and push {source.shown}")
    if not isinstance(source, BranchSource):
        raise Refusal(403, f"project '{name}' is served from a folder; only commits are pushed")
    try:
        place = source.place
    except GitError as error:
        raise Refusal(503, error.message) from None
    followers = tuple(_find_followers(every, place))
    drafts = tuple(filter(None, (projects.drafts(one.name) for one in followers)))
    return Repository(name, place, followers, drafts)


def _find_followers(every: Iterable[Reconciler], place: Place) -> Iterable[Follower]:
    for one in every:
        if isinstance(one.source, BranchSource) and _is_at(one.source, place):
            yield Follower(one, one.source)


def _is_at(source: BranchSource, place: Place) -> bool:
    try:
        return source.place.common_dir.samefile(place.common_dir)
    except (GitError, OSError):
        return False


# ---- What of a proposal somebody sees: nothing of projects in its repository that they may not
# read
# What is in the way is then not told either, but that something is: it names what is in them.


def show_to(merge_status: MergeStatus, repository: Repository, caller: Caller) -> MergeStatus:
    """Return what somebody may see of how a proposal stands."""
    if repository.allows(caller, Permission.READ_PROJECT):
        return merge_status
    seen = tuple(one for one in merge_status.others
                 if may(caller, Permission.READ_PROJECT, one.project))  # fmt: skip
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
    """Return one that nobody could plan, without the files outside of a folder that are why."""
    candidate = merge_status.candidate
    conflicts: Sequence[str] = candidate.conflicts if candidate else ()
    inside = tuple(one for one in conflicts if one.startswith(f"{folder}/"))
    if candidate is None or (inside and len(inside) == len(conflicts)):
        return merge_status
    why = "files of this repository that you cannot read conflict with it"
    return replace(_hide(merge_status, why), candidate=replace(candidate, conflicts=inside))


def _hide(merge_status: MergeStatus, why: str) -> MergeStatus:
    if merge_status.ended or not merge_status.obstacles:
        return merge_status
    return replace(merge_status, obstacles=(f"{why}; people with access see which",))
