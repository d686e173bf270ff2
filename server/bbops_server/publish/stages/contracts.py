"""What a project publishes to its callers: of what is live, and of its drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops.source.git.revisions import commit_of
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import WriteContract
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.sources import Source
from bbops_server.publish.status.status import Written

ASK_SECONDS: Final = 60


async def write_contract(context: PublishContext, source: Mapping[str, Any], form: str) -> Written:
    """Return the contract of a commit, which the build process writes.

    Args:
        context: of the project, which knows where it answers.
        source: of the commit.
        form: a format.

    Raises:
        BbopsError: the commit has mistakes, or cannot be read.
    """
    asked = WriteContract(source, form, context.url, context.engine)
    answer = await context.build.ask(asked, timeout_seconds=ASK_SECONDS)
    return Written(answer.text, answer.content_type, answer.digest)


async def live_source(
    source: Source, applied: str | None, build: SupervisedChild
) -> dict[str, Any]:
    """Return where the commit that is live is read; it need not be the newest.

    Raises:
        ServerError: nothing is live, or its branch is gone.
    """
    newest = await source.revision(build) if applied is not None else None
    if newest is None or applied is None:
        raise ServerError("nothing is live yet")
    commit = commit_of(applied)
    return {**newest.source, "commit": commit} if commit else dict(newest.source)
