"""What of a proposal somebody sees: nothing of projects in its repository that they may not read.

What is in the way is then not told either, but that something is: it names what is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bbops_server.accounts.rules import Caller, Permission, may
from bbops_server.git_http.repository import Repository
from bbops_server.publish.proposals.merge_status import MergeStatus


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
