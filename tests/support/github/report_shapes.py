"""JSON of the stand-in for GitHub: comments, checks, deployments, releases, Apps and hooks."""

from __future__ import annotations

from typing import Any

from tests.support.forge_api import TIME
from tests.support.github.facts import Comment, Deployed, Hook, Released, Rules, Run, Status
from tests.support.github.shapes import Json, Shapes


class ReportShapes(Shapes):
    """Describes what the server writes."""

    @property
    def root(self) -> str:
        return f"{self.api}/repos/{self.world.repo.name}"

    def comment(self, comment: Comment) -> Json:
        issue = f"{self.root}/issues/{comment.number}"
        return {
            "id": comment.id, "node_id": f"IC_{comment.id}", "body": comment.body,
            "url": f"{self.root}/issues/comments/{comment.id}",
            "html_url": f"{issue}#issuecomment-{comment.id}", "issue_url": issue,
            "author_association": "NONE", "user": self.user(comment.who),
            "performed_via_github_app": None, "created_at": TIME, "updated_at": TIME,
        }  # fmt: skip

    def status(self, status: Status) -> Json:
        return {
            "id": status.id, "node_id": f"SC_{status.id}", "state": status.state,
            "context": status.context, "description": status.description or None,
            "target_url": status.url or None, "avatar_url": self.web,
            "url": f"{self.root}/statuses/{status.commit}", "created_at": TIME, "updated_at": TIME,
        }  # fmt: skip

    def run(self, run: Run) -> Json:
        url, is_done = f"{self.root}/check-runs/{run.id}", run.status == "completed"
        output = {name: run.output.get(name) for name in ("title", "summary", "text")}
        return {
            "id": run.id, "node_id": f"CR_{run.id}", "head_sha": run.commit, "name": run.name,
            "url": url, "html_url": f"{self.web}/runs/{run.id}", "details_url": run.url or None,
            "status": run.status, "conclusion": run.conclusion, "started_at": TIME,
            "completed_at": TIME if is_done else None, "external_id": None,
            "check_suite": {"id": 1}, "app": self.app(), "pull_requests": [],
            "output": {
                **output, "annotations_count": len(run.annotations),
                "annotations_url": f"{url}/annotations",
            },
        }  # fmt: skip

    def app(self) -> Json | None:
        app = self.world.app
        if app is None:
            return None
        return {
            "id": app.id, "node_id": f"A_{app.id}", "slug": app.slug, "name": app.slug,
            "owner": self.user("acme"), "description": None, "external_url": self.web,
            "html_url": f"{self.web}/apps/{app.slug}", "created_at": TIME, "updated_at": TIME,
            "permissions": app.rights, "events": ["push", "pull_request"],
        }  # fmt: skip

    def installation(self) -> Json:
        app, repo = self.world.app, self.world.repo
        assert app is not None
        url = f"{self.api}/app/installations/77"
        return {
            "id": 77, "app_id": app.id, "app_slug": app.slug, "target_id": 1,
            "target_type": "Organization" if repo.is_organization else "User",
            "single_file_name": None, "repository_selection": "selected",
            "access_tokens_url": f"{url}/access_tokens", "html_url": f"{self.web}/settings/77",
            "repositories_url": f"{self.api}/installation/repositories", "events": ["push"],
            "account": self.user(repo.owner), "permissions": app.rights, "created_at": TIME,
            "updated_at": TIME, "suspended_by": None, "suspended_at": None,
        }  # fmt: skip

    def deployment(self, deployment: Deployed) -> Json:
        url = f"{self.root}/deployments/{deployment.id}"
        return {
            "id": deployment.id, "node_id": f"DE_{deployment.id}", "sha": deployment.commit,
            "ref": deployment.commit, "task": "deploy", "environment": deployment.environment,
            "creator": self.user(deployment.who), "payload": {}, "description": None,
            "statuses_url": f"{url}/statuses", "repository_url": self.root, "url": url,
            "created_at": TIME, "updated_at": TIME,
            "transient_environment": deployment.is_transient,
            "production_environment": deployment.is_production,
        }  # fmt: skip

    def deployment_status(self, deployment: Deployed) -> Json:
        url, state = f"{self.root}/deployments/{deployment.id}", deployment.states[-1]
        return {
            "id": self.world.new_id(), "node_id": "DS_1", "state": state["state"],
            "creator": self.user(deployment.who), "description": "", "deployment_url": url,
            "target_url": "", "repository_url": self.root, "url": f"{url}/statuses/1",
            "environment_url": state.get("environment_url", ""), "created_at": TIME,
            "updated_at": TIME,
        }  # fmt: skip

    def release(self, release: Released) -> Json:
        url = f"{self.root}/releases/{release.id}"
        return {
            "id": release.id, "node_id": f"RE_{release.id}", "url": url, "assets": [],
            "assets_url": f"{url}/assets", "upload_url": f"{url}/assets{{?name,label}}",
            "tarball_url": None, "zipball_url": None, "created_at": TIME, "published_at": TIME,
            "draft": False, "prerelease": False, "author": self.user(release.who),
            "html_url": f"{self.web}/releases/{release.tag}", "name": release.name,
            "tag_name": release.tag, "target_commitish": release.commit, "body": release.body,
        }  # fmt: skip

    def hook(self, hook: Hook) -> Json:
        url = f"{self.root}/hooks/{hook.id}"
        return {
            "type": "Repository", "id": hook.id, "name": "web", "active": True, "url": url,
            "events": list(hook.events), "ping_url": f"{url}/pings", "test_url": f"{url}/test",
            "config": {"content_type": "json", "url": hook.url, "secret": "********"},
            "created_at": TIME, "updated_at": TIME,
            "last_response": {"code": None, "status": "unused", "message": None},
        }  # fmt: skip

    def rules(self, rules: Rules) -> list[Json]:
        source = {"ruleset_source_type": "Repository", "ruleset_source": "acme/shop"}
        found: list[Json] = []
        if rules.approvals or rules.needs_owners:
            found.append({"type": "pull_request", **source, "ruleset_id": 1, "parameters": {
                "dismiss_stale_reviews_on_push": rules.dismisses_stale,
                "require_code_owner_review": rules.needs_owners,
                "require_last_push_approval": False,
                "required_approving_review_count": rules.approvals,
                "required_review_thread_resolution": False,
            }})  # fmt: skip
        if rules.checks:
            checks: list[Any] = [{"context": name} for name in rules.checks]
            found.append({"type": "required_status_checks", **source, "ruleset_id": 1,
                "parameters": {
                    "required_status_checks": checks,
                    "strict_required_status_checks_policy": False,
            }})  # fmt: skip
        if rules.has_queue:
            found.append({"type": "merge_queue", **source, "ruleset_id": 1, "parameters": {
                "check_response_timeout_minutes": 60, "grouping_strategy": "ALLGREEN",
                "max_entries_to_build": 5, "max_entries_to_merge": 5, "merge_method": "MERGE",
                "min_entries_to_merge": 1, "min_entries_to_merge_wait_minutes": 5,
            }})  # fmt: skip
        return found

    def branch(self, name: str, commit: str) -> Json:
        rules, url = self.world.repo.classic, f"{self.root}/branches/{name}"
        checks = list(rules.checks) if rules else []
        return {
            "name": name, "commit": self.commit(commit), "protected": rules is not None,
            "protection_url": f"{url}/protection",
            "_links": {"self": url, "html": f"{self.web}/tree/{name}"},
            "protection": {
                "enabled": rules is not None,
                "required_status_checks": {
                    "enforcement_level": "non_admins" if checks else "off", "contexts": checks,
                    "checks": [{"context": context, "app_id": None} for context in checks],
                },
            },
        }  # fmt: skip

    def protection(self, rules: Rules) -> Json:
        reviews = {
            "dismiss_stale_reviews": rules.dismisses_stale,
            "require_code_owner_reviews": rules.needs_owners,
            "required_approving_review_count": rules.approvals,
        }  # fmt: skip
        checks = {
            "contexts": list(rules.checks),
            "checks": [{"context": context, "app_id": None} for context in rules.checks],
        }  # fmt: skip
        return {
            "required_pull_request_reviews": reviews, "required_status_checks": checks,
            "enforce_admins": {"url": self.root, "enabled": True},
        }  # fmt: skip
