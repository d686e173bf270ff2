"""Outlines of the live release and of drafts, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bbops_server.process.messages.builds import ReadProjectFile, WriteOutline
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.status.status import RenderedOutline

OUTLINE_SECONDS: Final = 60
FILE_SECONDS: Final = 30


async def write_outline(context: PublishContext, source: Mapping[str, Any]) -> RenderedOutline:
    """Return the outline of a commit, rendered by the build process.

    Raises:
        BbopsError: the commit cannot be read.
    """
    request = WriteOutline(source, context.engine)
    answer = await context.build.ask(request, timeout_seconds=OUTLINE_SECONDS)
    return RenderedOutline(answer.text, answer.digest, answer.commit, answer.diagnostics)


async def read_file(context: PublishContext, source: Mapping[str, Any], path: str) -> str | None:
    """Return the text of a commit's file; None if it does not exist or exceeds 1 MB.

    Raises:
        BbopsError: the commit cannot be read.
    """
    request = ReadProjectFile(source, path)
    return (await context.build.ask(request, timeout_seconds=FILE_SECONDS)).text
