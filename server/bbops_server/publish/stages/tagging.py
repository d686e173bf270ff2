"""Tag what has gone live: the tags of a repository are the history of what was served."""

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
from bbops_server.publish.sources.values import Built

TAG_SECONDS = 60

_log = logging.getLogger(__name__)


async def summarize(built: Built, at: PublishContext, live: str | None) -> str:
    """Return what a release changes in what is live, in one line; empty where nobody can say.

    Args:
        built: it.
        at: its project.
        live: the revision that is live now.
    """
    branch, commit = read_revision(live)
    if at.tells_callers or not commit or built.source.get("kind") != "git":
        return ""
    base = {**built.source, "commit": commit, "branch": branch}
    asked = Summarize(built.source, base, at.engine)
    try:
        return (await at.plane.build.ask(asked, timeout_seconds=TAG_SECONDS)).plan
    except BbopsError:
        return ""  # the commit that was live may be gone from the repository


async def tag(
    built: Built, at: PublishContext, *, plan: str = "", changes: Sequence[str] = ()
) -> str:
    """Tag the commit of a release that is live; return the version's name.

    What was live before keeps its version, also after a restart and with other values. Empty of
    what is no commit, of drafts, and where the repository takes no tag: that is logged, and what is
    live stays live.
    """
    if at.tells_callers or built.source.get("kind") != "git":
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
    asked = TagVersion(
        built.source["repository"], built.source["commit"], facts, before,
        at.series(built.facts.project),
    )  # fmt: skip
    try:
        name = (await at.plane.build.ask(asked, timeout_seconds=TAG_SECONDS)).version
    except BbopsError as error:
        _log.error("%s is live, but not tagged: %s", built.revision, error)
        return ""
    at.source.share_tag(at.plane.build, name)
    return name


async def tag_again(built: Built, at: PublishContext) -> str:
    """Tag what went live just before the server ended, and remember it; return as `tag`.

    Raises:
        Stalled: the tag is there, but cannot be remembered.
    """
    if not isinstance(at.source, BranchSource):
        return ""
    branch, commit = read_revision(built.revision)
    fetched = describe(at.source.repository, commit, branch, at.source.path)
    version = await tag(fetched.built(built.facts), at)
    if version:
        await record(built, version, at)
    return version
