"""Checks, comments, deployments and releases of the server on GitHub."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeConflict, ForgeGone
from bbops_server.forges.on_github.repository import GitHubRepository
from bbops_server.forges.on_github.shapes import GitHubComment, GitHubDeployment, GitHubId, login
from bbops_server.forges.values import Deployment, NewRelease, StatusReport

MAX_ANNOTATIONS: Final = 50
MAX_TEXT: Final = 65_000
MAX_DESCRIPTION: Final = 140
_COMPLETED: Final = ":completed"
_LEVELS: Final = {"error": "failure", "warning": "warning"}


class GitHubReports(GitHubRepository):
    """Writes the server's results to GitHub; the protocol describes each operation."""

    async def report(self, status: StatusReport, known: str = "") -> str:
        """Set the result of a check: a check run of an App, or a commit status of a token.

        Only the first result of a run is a change of it. Annotations of a second one would be
        added to the first, so it gets a new run, which replaces the old one on every page.
        """
        if self.app is None:
            return await self._set_status(status)
        body, right = _describe_run(status), "checks: write"
        path, method = f"{self.root}/check-runs", "POST"
        if known and not known.endswith(_COMPLETED):
            path, method = f"{path}/{known}", "PATCH"
        else:
            body["head_sha"] = status.commit
        response = await self.api.send(method, path, body, right=right)
        number = str(decode(response, GitHubId).id)
        return number if status.state == "pending" else number + _COMPLETED

    async def find_comment(self, number: int, marker: str) -> str:
        """Return the id of the credential's own comment that begins with a marker, else empty."""
        logins = await self.bot_logins()
        path = f"{self.root}/issues/{number}/comments"
        pages = self.api.pages(
            path, list[GitHubComment], right="pull_requests: read", may_cut=True
        )  # fmt: skip
        async for page in pages:
            for comment in page:
                if (comment.body or "").startswith(marker) and login(comment.user) in logins:
                    return str(comment.id)
        return ""

    async def comment(self, number: int, body: str, known: str = "") -> str:
        """Create a comment, or change the comment `known`; return its id."""
        path, method = f"{self.root}/issues/{number}/comments", "POST"
        if known:
            path, method = f"{self.root}/issues/comments/{known}", "PATCH"
        response = await self.api.send(
            method, path, {"body": body}, right="pull_requests: write"
        )  # fmt: skip
        return str(decode(response, GitHubId).id)

    async def deploy(self, deployment: Deployment, known: str = "") -> str:
        """Set the state of an environment; return the deployment's id, empty for none to end."""
        right = "deployments: write"
        path = f"{self.root}/deployments"
        if not known:
            if not deployment.is_active:
                return ""
            body = _describe_deployment(deployment)
            known = str(decode(await self.api.send("POST", path, body, right=right), GitHubId).id)
        status: dict[str, Any] = {"state": "success" if deployment.is_active else "inactive"}
        if deployment.url and deployment.is_active:
            status["environment_url"] = deployment.url
        await self.api.send("POST", f"{path}/{known}/statuses", status, right=right)
        return known

    async def find_deployment(self, environment: str, commit: str) -> str:
        """Return the id of the server's newest deployment of a commit, else empty."""
        logins = await self.bot_logins()
        found = await self.api.get(
            f"{self.root}/deployments", list[GitHubDeployment], right="deployments: read",
            environment=environment, sha=commit,
        )  # fmt: skip
        own = (str(each.id) for each in found if login(each.creator) in logins)
        return next(own, "")

    async def release(self, release: NewRelease) -> None:
        """Create a release; do nothing if its tag has one."""
        body = {
            "tag_name": release.tag, "target_commitish": release.commit, "name": release.name,
            "body": release.notes,
        }  # fmt: skip
        try:
            await self.api.send("POST", f"{self.root}/releases", body, right="contents: write")
        except ForgeConflict:
            if not await self._has_release(release.tag):
                raise

    async def _has_release(self, tag: str) -> bool:
        try:
            await self.api.read(f"{self.root}/releases/tags/{quote(tag, safe='')}")
        except ForgeGone:
            return False
        return True

    async def _set_status(self, status: StatusReport) -> str:
        body = {
            "state": status.state, "context": status.name,
            "description": _cut(status.summary, MAX_DESCRIPTION),
            **({"target_url": status.url} if status.url else {}),
        }  # fmt: skip
        path = f"{self.root}/statuses/{status.commit}"
        response = await self.api.send("POST", path, body, right="statuses: write")
        return str(decode(response, GitHubId).id)


def _describe_run(status: StatusReport) -> dict[str, Any]:
    placed = [finding for finding in status.findings if finding.file and finding.line > 0]
    shown = placed[:MAX_ANNOTATIONS]
    rest = len(status.findings) - len(shown)
    summary = f"{status.summary}\n\n{rest} more without an annotation." if rest else status.summary
    output: dict[str, Any] = {"title": _cut(status.summary, 255), "summary": _cut(summary)}
    if status.text:
        output["text"] = _cut(status.text)
    if shown:
        output["annotations"] = [_annotate(finding) for finding in shown]
    is_pending = status.state == "pending"
    result = {"status": "in_progress"} if is_pending else {"conclusion": status.state}
    url = {"details_url": status.url} if status.url else {}
    return {"name": status.name, "output": output, **result, **url}


def _annotate(finding: JsonDiagnostic) -> dict[str, Any]:
    text = f"{finding.message}\nhint: {finding.hint}" if finding.hint else finding.message
    columns = {"start_column": finding.column, "end_column": finding.column}
    return {
        "path": finding.file, "start_line": finding.line, "end_line": finding.line,
        **(columns if finding.column > 0 else {}),
        "annotation_level": _LEVELS.get(finding.severity, "notice"),
        "title": _cut(finding.code, 255), "message": _cut(text, 16_000),
    }  # fmt: skip


def _describe_deployment(deployment: Deployment) -> dict[str, Any]:
    return {
        "ref": deployment.commit, "environment": deployment.environment, "auto_merge": False,
        "required_contexts": [], "production_environment": deployment.is_production,
        "transient_environment": False,  # else GitHub does not end the one before
    }  # fmt: skip


def _cut(text: str, limit: int = MAX_TEXT) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
