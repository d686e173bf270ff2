"""Version tags, and the live release restored from its artifact."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from bbops.base.errors import BbopsError
from bbops.source.git.revisions import read_revision
from bbops_server.process.messages.builds import Summarize
from bbops_server.process.messages.repositories import TagVersion
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record, record
from bbops_server.publish.sources.sources import BranchSource, describe
from bbops_server.publish.sources.values import BuiltRevision, FetchedRevision
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.stages import RELINK, build, require_valid
from bbops_server.publish.status.status import Stalled

TAG_SECONDS = 60

_log = logging.getLogger(__name__)


async def summarize(built: BuiltRevision, at: PublishContext, live: str | None) -> str:
    """Return the changes to the live release in one line; empty if they cannot be compared.

    Args:
        built: the new release.
        at: its context.
        live: the live revision.
    """
    branch, commit = read_revision(live)
    if at.exposes_errors or not commit or built.source.get("kind") != "git":
        return ""
    base = {**built.source, "commit": commit, "branch": branch}
    request = Summarize(built.source, base, at.engine)
    try:
        return (await at.plane.build.ask(request, timeout_seconds=TAG_SECONDS)).plan
    except BbopsError:
        return ""  # the live commit may be missing from the repository


async def tag(
    built: BuiltRevision, at: PublishContext, *, plan: str = "", changes: Sequence[str] = ()
) -> str:
    """Tag the commit of a live release; return the version's name.

    A commit that was live before keeps its version, also after a restart and with other env values.
    Empty for working trees and drafts, and if the repository rejects the tag, which is logged.
    """
    if at.exposes_errors or built.source.get("kind") != "git":
        return ""
    live = await asyncio.to_thread(read_record, at)
    before = live.version if live is not None else ""
    if live is not None and live.revision == built.revision and before:
        return before
    facts = {"Release": built.facts.digest, "Revision": built.revision}
    if plan:
        facts["Plan"] = plan
    if changes:
        facts["Changes"] = "; ".join(changes)
    request = TagVersion(
        built.source["repository"], built.source["commit"], facts, before,
        at.series(built.facts.project),
    )  # fmt: skip
    try:
        name = (await at.plane.build.ask(request, timeout_seconds=TAG_SECONDS)).version
    except BbopsError as error:
        _log.error("%s is live, but not tagged: %s", built.revision, error)
        return ""
    at.source.share_tag(at.plane.build, name)
    return name


async def tag_restored(built: BuiltRevision, at: PublishContext) -> str:
    """Tag a release that went live just before the server ended, and record it; return as `tag`.

    Raises:
        Stalled: the tag exists, but cannot be recorded.
    """
    if not isinstance(at.source, BranchSource):
        return ""
    branch, commit = read_revision(built.revision)
    fetched = describe(at.source.repository, commit, branch, at.source.path)
    version = await tag(fetched.with_facts(built.facts), at)
    if version:
        await record(built, version, at)
    return version


# ---- Restore a live release from its artifact; another bbops version may not be able to read it


async def serve_artifact(built: BuiltRevision, at: PublishContext) -> None:
    """Make the release of an artifact live. Raises: BbopsError, Stalled: it cannot be served."""
    record = built
    for stage in RELINK:
        record = await stage.run(record, at)


async def warm(built: BuiltRevision, at: PublishContext) -> None:
    """Make a release live; rebuild an artifact of another bbops version from its commit.

    Raises:
        BbopsError, Stalled: it cannot be served.
    """
    try:
        await serve_artifact(built, at)
    except (BbopsError, Stalled):
        if not built.commit:
            raise
        source = await live_source(at.source, built.revision, at.plane.build)
        rebuilt = await build(FetchedRevision(built.revision, source), at)
        await serve_artifact(await require_valid(rebuilt, at), at)
