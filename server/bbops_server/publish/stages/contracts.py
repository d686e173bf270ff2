"""API contracts and outlines of the live release and of drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops.source.git.revisions import commit_of
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import (
    ReadProjectFile,
    WriteContract,
    WriteOutline,
    WrittenContract,
    WrittenOutline,
)
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.sources import RevisionSource

ASK_SECONDS: Final = 60


async def write_contract(
    context: PublishContext, source: Mapping[str, Any], form: str
) -> WrittenContract:
    """Return the contract of a commit, rendered by the build process.

    Args:
        context: the context of the project, with its URL.
        source: the source of the commit.
        form: the format.

    Raises:
        BbopsError: the commit has errors, or cannot be read.
    """
    request = WriteContract(source, form, context.url, context.engine)
    return await context.build.ask(request, timeout_seconds=ASK_SECONDS)


async def live_source(
    source: RevisionSource, applied: str | None, build: SupervisedChild
) -> dict[str, Any]:
    """Return the source of the live commit, which may be older than the newest.

    Raises:
        ServerError: nothing is live, or the branch does not exist.
    """
    newest = await source.revision(build) if applied is not None else None
    if newest is None or applied is None:
        raise ServerError("nothing is live yet")
    commit = commit_of(applied)
    return {**newest.source, "commit": commit} if commit else dict(newest.source)


# ---- Outlines of the live release and of drafts, and their files

OUTLINE_SECONDS: Final = 60
FILE_SECONDS: Final = 30


async def write_outline(context: PublishContext, source: Mapping[str, Any]) -> WrittenOutline:
    """Return the outline of a commit, rendered by the build process.

    Raises:
        BbopsError: the commit cannot be read.
    """
    request = WriteOutline(source, context.engine)
    return await context.build.ask(request, timeout_seconds=OUTLINE_SECONDS)


async def read_file(context: PublishContext, source: Mapping[str, Any], path: str) -> str | None:
    """Return the text of a commit's file; None if it does not exist or exceeds 1 MB.

    Raises:
        BbopsError: the commit cannot be read.
    """
    request = ReadProjectFile(source, path)
    return (await context.build.ask(request, timeout_seconds=FILE_SECONDS)).text
