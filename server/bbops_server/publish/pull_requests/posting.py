"""Bring a pull request on its forge to its desired state, by as few requests as possible.

Each step compares the desired with the posted state, so a repeated or interrupted run does no harm:
there is one comment, and one deployment for each head.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from bbops.source.git.revisions import commit_of
from bbops_server.forges.hosted import ForgeForbidden, ForgeGone, ForgeRejected, HostedForge
from bbops_server.forges.values import Deployment, NewRelease, StatusReport
from bbops_server.publish.pull_requests.desired import DesiredPull, digest
from bbops_server.publish.pull_requests.reading import PostedCheck, PostedFile, PostedPull
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record


class PullPoster:
    """Sets the state of one pull request."""

    def __init__(self, forge: HostedForge, file: PostedFile, number: int) -> None:
        self._forge, self._file, self._number = forge, file, number

    async def post(self, desired: DesiredPull) -> None:
        """Set statuses, comment and deployment, as far as the credential may.

        Raises:
            ForgeError: the forge rejects a request, or cannot be reached.
            ServerError: the state cannot be kept.
        """
        forbidden: ForgeForbidden | None = None
        for step in (self._check, self._plan, self._comment, self._preview):
            try:
                await step(desired)
            except ForgeRejected:  # no request can succeed
                raise
            except ForgeForbidden as error:
                forbidden = forbidden or error
        if forbidden is not None:
            raise forbidden

    async def end_preview(self) -> None:
        """End the deployment of the preview, if there is one. Raises as `post`."""
        posted = self._posted
        if not (posted.preview and posted.environment):
            return
        ended = Deployment(posted.environment, posted.previewed, is_active=False)
        try:
            await self._forge.deploy(ended, posted.preview)
        except ForgeRejected:
            raise
        except (ForgeGone, ForgeForbidden):
            pass  # a user has deleted it, or the right for it was withdrawn
        kept = replace(self._posted, preview="", previewed="", environment="", deployed="")
        self._file.put(kept)

    @property
    def _posted(self) -> PostedPull:
        return self._file.posted.find(self._number)

    async def _check(self, desired: DesiredPull) -> None:
        check = await self._report(self._posted.check, desired.check)
        self._file.put(replace(self._posted, check=check))

    async def _plan(self, desired: DesiredPull) -> None:
        plan = await self._report(self._posted.plan, desired.plan)
        self._file.put(replace(self._posted, plan=plan))

    async def _preview(self, desired: DesiredPull) -> None:
        if "deployments" not in self._forge.capabilities:
            return
        if desired.preview is not None:
            await self._deploy(desired.preview)
        else:
            await self.end_preview()

    async def _report(self, posted: PostedCheck, status: StatusReport) -> PostedCheck:
        current = digest(status)
        if current == posted.digest:
            return posted
        known = posted.id if posted.commit == status.commit else ""
        return PostedCheck(status.commit, await self._forge.report(status, known), current)

    async def _comment(self, desired: DesiredPull) -> None:
        posted, document = self._posted, desired.comment
        has_comment = posted.comment or posted.is_commenting
        if not (desired.is_commented or has_comment) or posted.digest == document.digest:
            return
        known = posted.comment
        if not known and posted.is_commenting:
            known = await self._forge.find_comment(self._number, document.marker)
        if known:
            try:
                await self._forge.comment(self._number, document.markdown, known)
            except ForgeGone:  # a user has deleted it
                known = ""
        if not known:
            self._file.put(replace(posted, comment="", is_commenting=True))
            known = await self._forge.comment(self._number, document.markdown)
        done = replace(self._posted, comment=known, digest=document.digest, is_commenting=False)
        self._file.put(done)

    async def _deploy(self, preview: Deployment) -> None:
        posted, current = self._posted, digest(preview)
        if posted.deployed == current:
            return
        known = posted.preview if posted.previewed == preview.commit else ""
        if not known and posted.is_deploying:
            known = await self._forge.find_deployment(preview.environment, preview.commit)
        self._file.put(replace(posted, is_deploying=True))
        known = await self._forge.deploy(preview, known)
        self._file.put(
            replace(
                self._posted, preview=known, previewed=preview.commit, deployed=current,
                environment=preview.environment, is_deploying=False,
            )
        )  # fmt: skip


async def post_live(
    forge: HostedForge, file: PostedFile, at: PublishContext, environment: str,
    changes: Sequence[str],
) -> None:  # fmt: skip
    """Report the live commit as deployed, and its version as released, each once.

    Args:
        forge: the forge.
        file: the posted state.
        at: the project.
        environment: the name of the production environment.
        changes: the changes of the live release, for the notes.

    Raises:
        ForgeError: the forge rejects a request, or cannot be reached.
        ServerError: the state cannot be kept.
    """
    live = await asyncio.to_thread(read_record, at)
    commit = commit_of(live.revision) if live is not None else ""
    if live is None or not commit:
        return
    if "deployments" in forge.capabilities and file.posted.production != commit:
        known = ""
        if file.posted.is_deploying:
            known = await forge.find_deployment(environment, commit)
        file.write(replace(file.posted, is_deploying=True))
        live_now = Deployment(environment, commit, is_active=True, url=at.url, is_production=True)
        await forge.deploy(live_now, known)
        file.write(replace(file.posted, production=commit, is_deploying=False))
    version = live.version
    if version and "releases" in forge.capabilities and file.posted.released != version:
        notes = "\n".join(f"- {change}" for change in changes) or "No changes of tables."
        await forge.release(NewRelease(version, commit, version, notes))
        file.write(replace(file.posted, released=version))
