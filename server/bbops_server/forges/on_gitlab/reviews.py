"""Reviews, authors and members of a project on GitLab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

import msgspec

from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeError, ForgeGone
from bbops_server.forges.on_gitlab.project import READ, V4
from bbops_server.forges.on_gitlab.pulls import GitLabPulls
from bbops_server.forges.on_gitlab.rules import find_times, is_push, list_verdicts
from bbops_server.forges.on_gitlab.shapes import (
    GitLabApproval,
    GitLabApprovals,
    GitLabGroup,
    GitLabNote,
    GitLabReviewer,
    GitLabUser,
    GitLabVersion,
    login,
)
from bbops_server.forges.values import PullReview

DEVELOPER: Final = 30
"""The least role that may push."""

MAX_COMMIT_PAGES: Final = 20
AUTHORS: Final = """\
query($id: MergeRequestID!, $after: String) {
  mergeRequest(id: $id) {
    committers(first: 100) { nodes { username } pageInfo { hasNextPage } }
    commits(first: 100, after: $after) {
      nodes { author { username } }
      pageInfo { hasNextPage endCursor }
    }
  }
}"""
"""The users of the commits, which GitLab resolves by their confirmed e-mail addresses.

Its REST API has names and addresses alone.
"""


class _PageInfo(msgspec.Struct, rename="camel"):
    has_next_page: bool
    end_cursor: str | None = None


class _Commit(msgspec.Struct):
    author: GitLabUser | None = None


class _Commits(msgspec.Struct, rename="camel"):
    page_info: _PageInfo
    nodes: list[_Commit | None] = []


class _Committers(msgspec.Struct, rename="camel"):
    page_info: _PageInfo
    nodes: list[GitLabUser | None] = []


class _CommittedPull(msgspec.Struct):
    committers: _Committers
    commits: _Commits


class _Data(msgspec.Struct, rename="camel"):
    merge_request: _CommittedPull | None = None


class _Answer(msgspec.Struct):
    data: _Data | None = None


class _Member(msgspec.Struct):
    access_level: int
    state: str = "active"


class GitLabReviews(GitLabPulls):
    """Reads the facts about people that decide about a merge; the protocol describes them."""

    async def list_reviews(self, number: int) -> Sequence[PullReview]:
        """Return the approvals of a merge request, each at its head, and requests for changes."""
        path = f"{await self.find_root()}/merge_requests/{number}"
        found = await self.api.get(f"{path}/approvals", GitLabApprovals, right=READ)
        reviewers = await self._list_reviewers(path)
        versions = await self.read_pages(f"{path}/versions", list[GitLabVersion])
        times = await self._find_times(path, found.approved_by)
        users = [*(each.user for each in found.approved_by), *(each.user for each in reviewers)]
        for user in users:
            self.remember_user(user.username, user.id)
        return list(list_verdicts(found.approved_by, reviewers, versions, times))

    async def list_authors(self, number: int) -> frozenset[str]:
        """Return the logins of a merge request's authors, committers, and users who pushed to it.

        An author with an unknown address has no login, and neither has a co-author in a message.
        Events name the users of all pushes but the first, whatever addresses their commits have.

        Raises:
            ForgeError: the forge does not list all of its commits.
        """
        pull = await self.read_pull(number)
        logins, cursor = await self._find_pushers(number), ""
        for _ in range(MAX_COMMIT_PAGES):
            page = await self._read_authors(pull.id, cursor)
            users = [commit.author for commit in page.commits.nodes if commit]
            logins |= {user.username for user in (*users, *page.committers.nodes) if user}
            if page.committers.page_info.has_next_page:
                break
            if not page.commits.page_info.has_next_page:
                return frozenset(logins)
            cursor = page.commits.page_info.end_cursor or ""
        raise ForgeError(
            f"merge request {number} has more commits or committers than GitLab lists",
            hint="merge it in smaller parts, or squash its commits",
        )

    async def may_write(self, login: str) -> bool:
        """Return whether a user has at least the role Developer, also by a group."""
        number = await self.find_user_id(login)
        member = await self._find_member(f"{await self.find_root()}/members/all", number)
        return member is not None and member.access_level >= DEVELOPER

    async def is_team_member(self, team: str, login: str) -> bool:
        """Return whether a user is a direct member of a group, such as `acme/backend`.

        Only groups with access to the project count: anybody can create a group with the name of a
        user or group that is gone.
        """
        number, name = await self.find_user_id(login), team.removeprefix("@").lower()
        path = f"{V4}/groups/{quote(name, safe='')}/members"
        if await self._find_member(path, number) is None:
            return False
        groups = await self.read_pages(
            f"{await self.find_root()}/groups", list[GitLabGroup], with_shared="true"
        )
        return any(group.full_path.lower() == name for group in groups)

    async def _list_reviewers(self, path: str) -> Sequence[GitLabReviewer]:
        try:
            return await self.read_pages(f"{path}/reviewers", list[GitLabReviewer])
        except ForgeGone:  # older versions of GitLab have no such list
            return ()

    async def _find_times(
        self, path: str, approvals: Sequence[GitLabApproval]
    ) -> Mapping[str, datetime]:
        """Return the times of approvals by events, if the approvals themselves have none."""
        if all(approval.approved_at is not None for approval in approvals):
            return {}
        notes = await self.read_pages(
            f"{path}/notes", list[GitLabNote], may_cut=True, order_by="created_at", sort="desc"
        )
        return find_times(notes)

    async def _find_pushers(self, number: int) -> set[str]:
        path = f"{await self.find_root()}/merge_requests/{number}/notes"
        notes = await self.read_pages(path, list[GitLabNote], activity_filter="only_activity")
        return {login(note.author) for note in notes if is_push(note)}

    async def _read_authors(self, number: int, cursor: str) -> _CommittedPull:
        variables = {"id": f"gid://gitlab/MergeRequest/{number}", "after": cursor or None}
        body = {"query": AUTHORS, "variables": variables}
        response = await self.api.send("POST", "/graphql", body, right=READ)
        data = decode(response, _Answer).data
        if data is None or data.merge_request is None:
            raise ForgeError(f"{self.api.forge} does not list the authors of a merge request")
        return data.merge_request

    async def _find_member(self, path: str, number: int) -> _Member | None:
        """Return an active member of a project or group; None for others."""
        if not number:
            return None
        try:
            member = await self.api.get(f"{path}/{number}", _Member, right=READ)
        except ForgeGone:
            return None
        return member if member.state == "active" else None
