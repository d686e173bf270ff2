"""JSON of the stand-in for GitHub: users, repositories, pull requests and commits."""

from __future__ import annotations

from typing import Any

from tests.support.forge_api import TIME, github_user
from tests.support.github import bare
from tests.support.github.facts import Pull, Repo, Review
from tests.support.github.world import GitHubWorld

Json = dict[str, Any]
_REPO_URLS = (
    "archive", "assignees", "blobs", "branches", "collaborators", "comments", "commits", "compare",
    "contents", "contributors", "deployments", "downloads", "events", "forks", "git_commits",
    "git_refs", "git_tags", "hooks", "issue_comment", "issue_events", "issues", "keys", "labels",
    "languages", "merges", "milestones", "notifications", "pulls", "releases", "stargazers",
    "statuses", "subscribers", "subscription", "tags", "teams", "trees",
)  # fmt: skip
_COUNTS = (
    "forks", "forks_count", "open_issues", "open_issues_count", "size", "stargazers_count",
    "watchers", "watchers_count", "network_count", "subscribers_count",
)  # fmt: skip
_SWITCHES = ("downloads", "issues", "projects", "wiki", "pages", "discussions")
_PEOPLE = "example.com"


class Shapes:
    """Describes facts as GitHub does; `url` is the address of the stand-in."""

    def __init__(self, world: GitHubWorld, url: str) -> None:
        self.world, self.web, self.api = world, url, f"{url}/api/v3"

    def user(self, login: str, *, is_organization: bool = False) -> Json:
        user = github_user(self.api, login)
        return {**user, "type": "Organization"} if is_organization else user

    def known(self, login: str) -> Json | None:
        return self.user(login) if login else None

    def repo(self, repo: Repo) -> Json:
        url, page = f"{self.api}/repos/{repo.name}", f"{self.web}/{repo.name}"
        return {
            "id": repo.id, "node_id": f"R_{repo.id}", "name": repo.name.partition("/")[2],
            "full_name": repo.name, "private": repo.is_private, "html_url": page, "url": url,
            "owner": self.user(repo.owner, is_organization=repo.is_organization),
            "fork": bool(repo.parent), "description": None, "default_branch": repo.default,
            "homepage": None, "language": None, "license": None, "mirror_url": None,
            "archived": False, "disabled": False, "pushed_at": TIME, "created_at": TIME,
            "updated_at": TIME, "clone_url": f"{page}.git", "git_url": f"{page}.git",
            "ssh_url": f"git@127.0.0.1:{repo.name}.git", "svn_url": page,
            "allow_merge_commit": "merge" in repo.methods,
            "allow_squash_merge": "squash" in repo.methods,
            "allow_rebase_merge": "rebase" in repo.methods,
            **{f"{name}_url": f"{url}/{name}" for name in _REPO_URLS},
            **dict.fromkeys(_COUNTS, 0), **{f"has_{name}": True for name in _SWITCHES},
        }  # fmt: skip

    def pull(self, pull: Pull) -> Json:
        repo = self.world.repo
        url, page = f"{self.api}/repos/{repo.name}", f"{self.web}/{repo.name}/pull/{pull.number}"
        own, issue = f"{url}/pulls/{pull.number}", f"{url}/issues/{pull.number}"
        links = {
            "self": own, "html": page, "issue": issue, "comments": f"{issue}/comments",
            "review_comments": f"{own}/comments", "commits": f"{own}/commits",
            "review_comment": f"{url}/pulls/comments/1", "statuses": f"{url}/statuses/{pull.head}",
        }  # fmt: skip
        return {
            "_links": {name: {"href": href} for name, href in links.items()},
            **{f"{name}_url": links[name] for name in ("comments", "commits", "issue", "statuses")},
            "review_comment_url": links["review_comment"],
            "review_comments_url": links["review_comments"],
            "url": own, "html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch",
            "id": 9_000 + pull.number, "node_id": f"PR_{pull.number}", "number": pull.number,
            "state": pull.state, "locked": False, "title": pull.title, "body": pull.body or None,
            "user": self.user(pull.author), "author_association": "NONE", "draft": pull.is_draft,
            "assignee": None, "auto_merge": None, "labels": [], "milestone": None,
            "created_at": TIME, "updated_at": TIME,
            "closed_at": None if pull.state == "open" else TIME,
            "merged_at": TIME if pull.merge_commit else None,
            "merge_commit_sha": pull.merge_commit or None,
            "head": self._end(pull.home or repo, pull.branch, pull.head),
            "base": self._end(repo, pull.target, pull.base),
        }  # fmt: skip

    def full_pull(self, pull: Pull) -> Json:
        commits = bare.new_commits(self.world.repo.path, pull.base, pull.head)
        counts = ("additions", "changed_files", "comments", "deletions", "review_comments")
        return {
            **self.pull(pull), **dict.fromkeys(counts, 0), "commits": len(commits),
            "mergeable": True, "mergeable_state": "clean", "merged": bool(pull.merge_commit),
            "maintainer_can_modify": False, "merged_by": self.known(pull.merged_by),
        }  # fmt: skip

    def _end(self, repo: Repo, branch: str, commit: str) -> Json:
        return {
            "label": f"{repo.owner}:{branch}", "ref": branch, "sha": commit,
            "repo": self.repo(repo), "user": self.user(repo.owner),
        }  # fmt: skip

    def review(self, review: Review) -> Json:
        pull = f"{self.api}/repos/{self.world.repo.name}/pulls/{review.number}"
        return {
            "id": review.id, "node_id": f"PRR_{review.id}", "user": self.user(review.who),
            "body": "", "state": review.state, "commit_id": review.commit,
            "submitted_at": self.world.time_of(review.id),
            "html_url": f"{pull}#{review.id}", "pull_request_url": pull,
            "author_association": "MEMBER",
            "_links": {"html": {"href": pull}, "pull_request": {"href": pull}},
        }  # fmt: skip

    def retarget(self, number: int) -> Json:
        url = f"{self.api}/repos/{self.world.repo.name}/issues/events/{number}"
        return {
            "id": number, "node_id": f"BRC_{number}", "url": url, "event": "base_ref_changed",
            "actor": self.user("ada"), "commit_id": None, "commit_url": None,
            "performed_via_github_app": None,
            "created_at": self.world.time_of(number),
        }  # fmt: skip

    def commit(self, commit: str) -> Json:
        """Describe a commit; an address of example.com belongs to an account."""
        path, url = self.world.repo.path, f"{self.api}/repos/{self.world.repo.name}"
        author, address, committer, other, parents, message = bare.describe(path, commit)
        tree = bare.tree(path, commit)
        page = f"{self.web}/{self.world.repo.name}/commit"
        return {
            "url": f"{url}/commits/{commit}", "sha": commit, "node_id": f"C_{commit[:12]}",
            "html_url": f"{page}/{commit}", "comments_url": f"{url}/commits/{commit}/comments",
            "author": self._account(address), "committer": self._account(other),
            "parents": [
                {"sha": sha, "url": f"{url}/commits/{sha}", "html_url": f"{page}/{sha}"}
                for sha in parents
            ],
            "commit": {
                "url": f"{url}/git/commits/{commit}", "message": message, "comment_count": 0,
                "author": {"name": author, "email": address, "date": TIME},
                "committer": {"name": committer, "email": other, "date": TIME},
                "tree": {"sha": tree, "url": f"{url}/git/trees/{tree}"},
            },
        }  # fmt: skip

    def _account(self, address: str) -> Json | None:
        name, _, host = address.partition("@")
        return self.user(name) if host == _PEOPLE else None
