"""Rows of a draft's own database: listed for a form, and signed in as."""

from __future__ import annotations

from typing import Any, Final

from bbops.base.errors import ServerError
from bbops.runtime.values.failures import Failure
from bbops.runtime.values.identifiers import quote
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.drafts import ListDraftRows, SignInToDraft

MAX_ROWS: Final = 50
_MAX_CHARACTERS: Final = 100


async def list_rows(live: Live, request: ListDraftRows) -> list[tuple[str, list[str]]]:
    """Return the key and the labels of the newest rows, at most 50; nothing before a release.

    Args:
        live: the draft.
        request: names the table and its columns, which come from the draft's outline.
    """
    release = live.release
    if release is None:
        return []
    columns = ", ".join(map(quote, (request.key, *request.labels)))
    statement = (
        f"SELECT {columns} FROM {quote(request.table)} ORDER BY {quote(request.key)} DESC LIMIT ?"
    )
    limit = min(request.limit, MAX_ROWS)
    rows = await release.answering.host.database.read(statement, [limit])
    return [(_text(key), [_text(label) for label in labels]) for key, *labels in rows]


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:_MAX_CHARACTERS]


# ---- Sign a token for a row of a draft's own database: the draft's key, the draft's users

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
