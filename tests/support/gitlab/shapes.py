"""JSON of the stand-in for GitLab."""

from __future__ import annotations

from typing import Any

from tests.support.forge_api import TIME
from tests.support.github import bare
from tests.support.github.facts import (
    Comment,
    Deployed,
    Hook,
    Pull,
    Released,
    Review,
    Rules,
    Status,
)
from tests.support.gitlab.world import Environment, GitLabWorld, Version

Json = dict[str, Any]


class GitLabShapes:
    """Describes facts as GitLab does; `web` is the address of the stand-in."""

    def __init__(self, world: GitLabWorld, url: str) -> None:
        self.world, self.web = world, url

    @property
    def page(self) -> str:
        return f"{self.web}/{self.world.repo.name}"

    def user(self, login: str) -> Json:
        return {
            "id": self.world.id_of(login), "username": login, "name": login.title(),
            "state": "active", "avatar_url": f"{self.web}/{login}.png",
            "web_url": f"{self.web}/{login}",
        }  # fmt: skip

    def project(self, who: str) -> Json:
        repo, level = self.world.repo, self.world.level(who)
        rules = repo.classic or repo.rules
        own = {"access_level": level, "notification_level": 3} if level else None
        paid = {"approvals_before_merge": 0} if self.world.is_paid else {}
        return {
            "id": repo.id, "name": "Shop", "path": repo.name.rpartition("/")[2],
            "path_with_namespace": repo.name, "web_url": self.page, "default_branch": repo.default,
            "created_at": TIME, "http_url_to_repo": f"{self.page}.git", "archived": False,
            "visibility": "private" if repo.is_private else "public",
            "merge_method": self.world.style if self.world.style != "squash" else "merge",
            "permissions": {"project_access": own, "group_access": None},
            "only_allow_merge_if_pipeline_succeeds": bool(rules.checks), **paid,
        }  # fmt: skip

    def pull(self, pull: Pull) -> Json:
        world = self.world
        is_merged = bool(pull.merge_commit)
        state = "merged" if is_merged else {"open": "opened"}.get(pull.state, pull.state)
        has_commit = is_merged and pull.merge_commit != pull.head
        merger = self.user(pull.merged_by) if is_merged else None
        return {
            "id": 90_000 + pull.number, "iid": pull.number, "project_id": world.repo.id,
            "title": pull.title, "description": pull.body, "state": state, "created_at": TIME,
            "updated_at": TIME, "web_url": f"{self.page}/-/merge_requests/{pull.number}",
            "target_branch": pull.target, "source_branch": pull.branch, "sha": pull.head,
            "author": self.user(pull.author), "target_project_id": world.repo.id,
            "source_project_id": (pull.home or world.repo).id, "draft": pull.is_draft,
            "work_in_progress": pull.is_draft, "merged_by": merger, "merge_user": merger,
            "merged_at": TIME if is_merged else None, "squash": pull.number in world.squashes,
            "merge_commit_sha": pull.merge_commit if has_commit else None,
            "squash_commit_sha": world.squashes.get(pull.number),
            "detailed_merge_status": self._status(pull, state),
        }  # fmt: skip

    def _status(self, pull: Pull, state: str) -> str:
        rules = self.world.repo.classic or self.world.repo.rules
        if state != "opened":
            return "not_open"
        if pull.is_draft:
            return "draft_status"
        is_missing = len(self.world.approvers(pull)) < rules.approvals
        return "not_approved" if is_missing else "mergeable"

    def approval(self, review: Review) -> Json:
        at = {"approved_at": self.world.time_of(review.id)} if self.world.has_times else {}
        return {"user": self.user(review.who), **at}

    def reviewer(self, review: Review, state: str) -> Json:
        at = self.world.time_of(review.id)
        return {"user": self.user(review.who), "state": state, "created_at": at}

    def version(self, version: Version) -> Json:
        return {
            "id": version.id, "head_commit_sha": version.head, "base_commit_sha": version.base,
            "start_commit_sha": version.base, "created_at": self.world.time_of(version.id),
            "merge_request_id": 90_000 + version.number, "state": "collected", "real_size": "1",
        }  # fmt: skip

    def note(self, comment: Comment, *, is_system: bool = False) -> Json:
        at = self.world.time_of(comment.id)
        return {
            "id": comment.id, "body": comment.body, "attachment": None, "system": is_system,
            "author": self.user(comment.who), "created_at": at, "updated_at": at,
            "noteable_id": 90_000 + comment.number, "noteable_type": "MergeRequest",
            "noteable_iid": comment.number, "project_id": self.world.repo.id, "resolvable": False,
        }  # fmt: skip

    def status(self, status: Status) -> Json:
        state = "failed" if status.state == "failure" else status.state
        return {
            "id": status.id, "sha": status.commit, "ref": "main", "status": state,
            "name": status.context, "target_url": status.url, "description": status.description,
            "created_at": TIME, "allow_failure": status.context.startswith("optional"),
            "author": self.user(status.who),
        }  # fmt: skip

    def job(self, job: Status) -> Json:
        shown = self.status(job)
        return {
            "id": job.id, "name": job.context, "status": shown["status"], "stage": "test",
            "ref": "main", "tag": False, "created_at": TIME, "user": self.user(job.who),
            "allow_failure": shown["allow_failure"],
            "pipeline": self.pipeline(self.world.jobs[job.id], job.commit),
        }  # fmt: skip

    def pipeline(self, number: int, commit: str) -> Json:
        return {
            "id": number, "iid": number, "project_id": self.world.repo.id, "sha": commit,
            "ref": "main", "status": "success", "source": "push", "created_at": TIME,
            "updated_at": TIME, "web_url": f"{self.page}/-/pipelines/{number}",
        }  # fmt: skip

    def environment(self, environment: Environment) -> Json:
        return {
            "id": environment.id, "name": environment.name, "slug": "slug", "created_at": TIME,
            "updated_at": TIME, "external_url": environment.url or None,
            "state": "stopped" if environment.is_stopped else "available", "tier": "other",
        }  # fmt: skip

    def deployment(self, deployed: Deployed) -> Json:
        environment = self.world.find_environment(deployed.environment)
        return {
            "id": deployed.id, "iid": deployed.id, "ref": "main", "sha": deployed.commit,
            "created_at": TIME, "updated_at": TIME, "status": "success",
            "user": self.user(deployed.who), "environment": self.environment(environment),
        }  # fmt: skip

    def release(self, release: Released) -> Json:
        return {
            "name": release.name, "tag_name": release.tag, "description": release.body,
            "created_at": TIME, "released_at": TIME, "upcoming_release": False,
            "author": self.user(release.who),
        }  # fmt: skip

    def hook(self, hook: Hook) -> Json:
        return {
            "id": hook.id, "url": hook.url, "created_at": TIME, "push_events": True,
            "tag_push_events": True, "merge_requests_events": True, "note_events": False,
            "enable_ssl_verification": True, "alert_status": "executable",
        }  # fmt: skip

    def member(self, login: str) -> Json:
        return {**self.user(login), "access_level": self.world.level(login), "expires_at": None}

    def group(self, name: str) -> Json:
        return {
            "id": self.world.id_of(f"group {name}"), "name": name.rpartition("/")[2],
            "full_name": name, "full_path": name, "avatar_url": None,
            "web_url": f"{self.web}/groups/{name}",
        }  # fmt: skip

    def protected(self, rules: Rules) -> Json:
        return {
            "id": 1, "name": self.world.repo.default, "allow_force_push": False,
            "code_owner_approval_required": rules.needs_owners,
        }  # fmt: skip

    def approval_rule(self, rules: Rules) -> Json:
        return {
            "id": 1, "name": "All Members", "rule_type": "any_approver", "eligible_approvers": [],
            "approvals_required": rules.approvals, "users": [], "groups": [],
            "contains_hidden_groups": False, "protected_branches": [],
        }  # fmt: skip

    def committed(self, pull: Pull) -> Json:
        """Describe the users of a merge request's commits; example.com belongs to accounts."""
        path, commits = self.world.repo.path, self.world.commits(pull)
        people = [bare.describe(path, commit)[1:4:2] for commit in commits]
        authors = [{"author": _account(address)} for address, _ in people]
        committers = [user for _, address in people if (user := _account(address))]
        return {
            "commits": {"nodes": authors, "pageInfo": {"hasNextPage": False, "endCursor": None}},
            "committers": {"nodes": committers, "pageInfo": {"hasNextPage": False}},
        }  # fmt: skip


def _account(address: str) -> Json | None:
    name, _, host = address.partition("@")
    return {"username": name} if host == "example.com" else None
