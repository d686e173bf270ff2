"""Sign a token for a row of a draft's own database: the draft's key, the draft's users."""

from __future__ import annotations

from typing import Final

from bbops.base.errors import ServerError
from bbops.runtime.values.failures import Failure
from bbops.runtime.values.identifiers import quote
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.drafts import SignInToDraft

LASTS_SECONDS: Final = 60.0


async def sign_in(live: Live, request: SignInToDraft) -> str:
    """Return a token for the row that a request names; empty where there is none.

    Args:
        live: a draft's; nobody asks this of what is live.
        request: names the row.

    Raises:
        ServerError: nothing answers, it has no signing key, or no token can name the row.
    """
    release = live.release
    if release is None or release.answering.tokens is None:
        raise ServerError("the draft has no signing key")
    names = [request.key, *request.tells]
    columns = ", ".join(map(quote, names))
    where = f"FROM {quote(request.table)} WHERE {quote(request.by)} = ?"
    rows = await release.answering.host.database.read(
        f"SELECT {columns} {where} LIMIT 1",
        [request.value],
    )
    if not rows:
        return ""
    user, *told = rows[0]
    claims = dict(zip(request.tells, told, strict=True))
    try:
        token = release.answering.tokens.issue(user, **claims, expires_seconds=LASTS_SECONDS)
    except Failure as failure:
        raise ServerError(failure.message) from None
    return token
