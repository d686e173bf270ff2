"""JSON of the stand-in for Gitea."""

from __future__ import annotations

from typing import Any

from tests.support.forge_api import TIME
from tests.support.gitea.world import GiteaWorld
from tests.support.github import bare
from tests.support.github.facts import Comment, Hook, Pull, Released, Repo, Review, Status

Json = dict[str, Any]
_PEOPLE = "example.com"
_STATES = {"CHANGES_REQUESTED": "REQUEST_CHANGES", "COMMENTED": "COMMENT", "DISMISSED": "APPROVED"}


class GiteaShapes:
    """Describes facts as Gitea does; `web` is the address of the stand-in."""

    def __init__(self, world: GiteaWorld, url: str) -> None:
        self.world, self.web, self.api = world, url, f"{url}/api/v1"

    @property
    def root(self) -> str:
        return f"{self.api}/repos/{self.world.repo.name}"

    @property
    def page(self) -> str:
        return f"{self.web}/{self.world.repo.name}"

    def user(self, login: str) -> Json:
        numbers = {name: number for number, name in self.world.accounts.items()}
        return {
            "id": numbers.get(login, 7), "login": login, "login_name": "", "source_id": 0,
            "full_name": "", "email": f"{login}@noreply.localhost", "avatar_url": self.web,
            "html_url": f"{self.web}/{login}", "language": "", "is_admin": False, "active": False,
            "last_login": TIME, "created": TIME, "restricted": False, "prohibit_login": False,
            "location": "", "website": "", "description": "", "visibility": "public",
            "followers_count": 0, "following_count": 0, "starred_repos_count": 0,
        }  # fmt: skip

    def repo(self, repo: Repo, who: str = "") -> Json:
        role, methods = self.world.role(who), repo.methods
        page = f"{self.web}/{repo.name}"
        return {
            "id": repo.id, "owner": self.user(repo.owner), "name": repo.name.partition("/")[2],
            "full_name": repo.name, "description": "", "empty": False, "private": repo.is_private,
            "fork": bool(repo.parent), "template": False, "mirror": False, "size": 10,
            "html_url": page, "url": f"{self.api}/repos/{repo.name}", "clone_url": f"{page}.git",
            "ssh_url": f"git@127.0.0.1:{repo.name}.git", "default_branch": repo.default,
            "archived": False, "created_at": TIME, "updated_at": TIME,
            "permissions": {
                "admin": role == "admin", "push": role in {"admin", "write"}, "pull": True,
            },
            "has_issues": True, "has_pull_requests": True, "has_releases": True,
            "default_merge_style": self.world.style, "allow_merge_commits": "merge" in methods,
            "allow_squash_merge": "squash" in methods, "allow_rebase": "rebase" in methods,
            "allow_rebase_explicit": False, "allow_fast_forward_only_merge": False,
        }  # fmt: skip

    def pull(self, pull: Pull) -> Json:
        page = f"{self.page}/pulls/{pull.number}"
        is_merged = bool(pull.merge_commit)
        return {
            "id": 9_000 + pull.number, "url": page, "number": pull.number, "title": pull.title,
            "user": self.user(pull.author), "body": pull.body, "labels": [], "milestone": None,
            "assignee": None, "assignees": None, "requested_reviewers": [], "state": pull.state,
            "draft": pull.is_draft, "is_locked": False, "comments": 0, "html_url": page,
            "diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "mergeable": True,
            "merged": is_merged, "merged_at": TIME if is_merged else None,
            "merge_commit_sha": pull.merge_commit or None,
            "merged_by": self.user(pull.merged_by) if pull.merged_by else None,
            "allow_maintainer_edit": False, "base": self._base(pull), "head": self._head(pull),
            "merge_base": pull.base, "due_date": None, "created_at": TIME, "updated_at": TIME,
            "closed_at": None if pull.state == "open" else TIME, "pin_order": 0,
        }  # fmt: skip

    def _base(self, pull: Pull) -> Json:
        repo, target = self.world.repo, pull.target
        return {
            "label": target, "ref": target, "sha": self.world.main(), "repo_id": repo.id,
            "repo": self.repo(repo),
        }  # fmt: skip

    def _head(self, pull: Pull) -> Json:
        """Describe the head: the branch, which may move after the merge, or the ref without one."""
        repo, ref = pull.home or self.world.repo, f"refs/pull/{pull.number}/head"
        tip = bare.refs(repo.path).get(f"refs/heads/{pull.branch}", "") if pull.branch else ""
        return {
            "label": pull.branch, "ref": pull.branch if tip else ref, "sha": tip or pull.head,
            "repo_id": repo.id, "repo": self.repo(repo),
        }  # fmt: skip

    def review(self, review: Review) -> Json:
        page, pull = f"{self.page}/pulls/{review.number}", self.world.find_pull(review.number)
        return {
            "id": review.id, "user": self.user(review.who), "team": None, "body": "",
            "state": _STATES.get(review.state, review.state), "commit_id": review.commit,
            "stale": review.commit != pull.head, "official": self.world.is_official(review),
            "dismissed": review.state == "DISMISSED", "comments_count": 0,
            "submitted_at": self.world.time_of(review.id), "updated_at": TIME, "html_url": page,
            "pull_request_url": page,
        }  # fmt: skip

    def commit(self, commit: str) -> Json:
        """Describe a commit; an address of example.com belongs to an account."""
        author, address, committer, other, parents, message = bare.describe(
            self.world.repo.path, commit
        )
        url = f"{self.root}/git/commits/{commit}"
        return {
            "url": url, "sha": commit, "created": TIME, "html_url": f"{self.page}/commit/{commit}",
            "author": self._account(address), "committer": self._account(other),
            "parents": [{"url": url, "sha": sha, "created": TIME} for sha in parents],
            "files": [], "stats": {"total": 0, "additions": 0, "deletions": 0},
            "commit": {
                "url": url, "message": message,
                "author": {"name": author, "email": address, "date": TIME},
                "committer": {"name": committer, "email": other, "date": TIME},
                "tree": {"url": url, "sha": commit, "created": TIME}, "verification": None,
            },
        }  # fmt: skip

    def _account(self, address: str) -> Json | None:
        name, _, host = address.partition("@")
        return self.user(name) if host == _PEOPLE else None

    def status(self, status: Status) -> Json:
        return {
            "id": status.id, "status": status.state, "target_url": status.url,
            "description": status.description, "url": f"{self.root}/statuses/{status.commit}",
            "context": status.context, "creator": self.user(status.who), "created_at": TIME,
            "updated_at": TIME,
        }  # fmt: skip

    def branch(self, name: str, commit: str) -> Json:
        rules = self.world.repo.classic
        is_ruled = rules is not None and name == self.world.repo.default
        checks = list(rules.checks) if rules and is_ruled else []
        person = {"name": "ada", "email": "ada@example.com", "username": "ada"}
        return {
            "name": name, "protected": is_ruled, "enable_status_check": bool(checks),
            "required_approvals": rules.approvals if rules and is_ruled else 0,
            "status_check_contexts": [check for check in checks if check],
            "user_can_push": True, "user_can_merge": True, "effective_branch_protection_name": "",
            "commit": {
                "id": commit, "message": "", "url": f"{self.page}/commit/{commit}",
                "author": person, "committer": person, "verification": None, "timestamp": TIME,
                "added": None, "removed": None, "modified": None,
            },
        }  # fmt: skip

    def comment(self, comment: Comment) -> Json:
        page = f"{self.page}/pulls/{comment.number}"
        return {
            "id": comment.id, "html_url": f"{page}#issuecomment-{comment.id}", "issue_url": "",
            "pull_request_url": page, "user": self.user(comment.who), "original_author": "",
            "original_author_id": 0, "body": comment.body, "assets": [], "created_at": TIME,
            "updated_at": TIME,
        }  # fmt: skip

    def event(self, comment: Comment, kind: str = "comment") -> Json:
        at, page = self.world.time_of(comment.id), f"{self.page}/pulls/{comment.number}"
        return {
            "id": comment.id, "type": kind, "html_url": page, "issue_url": "",
            "pull_request_url": page, "user": self.user(comment.who), "body": comment.body,
            "created_at": at, "updated_at": at,
        }  # fmt: skip

    def release(self, release: Released) -> Json:
        return {
            "id": release.id, "tag_name": release.tag, "target_commitish": release.commit,
            "name": release.name, "body": release.body, "url": f"{self.root}/releases/{release.id}",
            "html_url": f"{self.page}/releases/tag/{release.tag}", "tarball_url": "",
            "zipball_url": "", "upload_url": "", "draft": False, "prerelease": False,
            "created_at": TIME, "published_at": TIME, "author": self.user(release.who),
            "assets": [],
        }  # fmt: skip

    def hook(self, hook: Hook) -> Json:
        return {
            "id": hook.id, "type": self.world.kind, "branch_filter": "", "active": True,
            "config": {"content_type": "json", "url": hook.url}, "events": list(hook.events),
            "authorization_header": "", "created_at": TIME, "updated_at": TIME,
        }  # fmt: skip

    def team(self, number: int, name: str) -> Json:
        return {
            "id": number, "name": name.partition("/")[2], "description": "", "permission": "write",
            "organization": None, "includes_all_repositories": False, "can_create_org_repo": False,
            "units": ["repo.code"], "units_map": {"repo.code": "write"},
        }  # fmt: skip
