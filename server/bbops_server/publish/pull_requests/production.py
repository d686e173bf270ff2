"""The production deployment and the release of the live version, on the project's forge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from bbops.source.git.revisions import commit_of
from bbops_server.forges.hosted import HostedForge
from bbops_server.forges.values import Deployment, NewRelease
from bbops_server.publish.pull_requests.records import PostedFile
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record


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
