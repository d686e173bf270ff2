"""Send requests to the live release and to drafts: for agents, and for the Playground.

The server is always one of ours: callers name a project or a draft, never a URL.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

import jwt

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.mcp.project.preview_request import DraftSignIn
from bbops.interfaces.mcp.project_backend import DraftUser
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.review.replay.sending import Reply, send
from bbops.runtime.flow.tracing import Span
from bbops.source.git.address import is_branch
from bbops.source.git.revisions import commit_of
from bbops_server.data_plane.drafts.keys import make_token
from bbops_server.data_plane.live.history import find
from bbops_server.data_plane.live.playground import (
    PREFIX,
    SENDER_HEADER,
    TRACE_HEADER,
    write_sender,
)
from bbops_server.mcp.fair_queue import ask
from bbops_server.mcp.served import Served
from bbops_server.process.messages.drafts import SignInToDraft
from bbops_server.process.messages.repositories import Resolve
from bbops_server.publish.drafts.draft_names import draft_name
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.processes.link import PLAYGROUND_KEY
from bbops_server.publish.projects.projects import wait_until_ready
from bbops_server.publish.sources.sources import BranchSource

RESPONSE_SECONDS: Final = 30.0
MAX_READ_BYTES: Final = 256 << 10
RESOLVE_SECONDS: Final = 90.0
TOKEN_SECONDS: Final = 60.0
_ATTEMPTS: Final = 10
_WAIT_SECONDS: Final = 0.15
_MAX_FOUND: Final = 20
_MAX_SUBJECT: Final = 200
_CLOCK_SECONDS: Final = 1.0
"""The history derives times from the monotonic clock of its process."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request.

    Attributes:
        target: path and query, percent-encoded.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A request's response.

    Attributes:
        commit: the commit that has answered; empty if it is not known.
        failure, step: of a failed request: the error, and its file and line.
        spans: the trace of a traced request.
        user: the id of the draft's user who has sent it; empty without one.
    """

    commit: str
    reply: Reply
    milliseconds: float
    failure: str = ""
    step: str = ""
    spans: tuple[Span, ...] = ()
    user: str = ""


async def send_to_draft(
    drafts: ProjectDrafts, draft: DraftStatus, request: Outgoing, *, is_traced: bool = False
) -> Exchanged:  # fmt: skip
    """Send a request to an awake draft, with a token for a minute.

    Raises:
        ServerError: the draft does not respond.
    """
    url, host = drafts.here(draft.slug)
    token = make_token(drafts.key(draft.slug), _now() + TOKEN_SECONDS)
    traced = ((TRACE_HEADER, "1"),) if is_traced else ()
    own = (("host", host), ("x-draft-token", token), *traced)
    began = _now()
    reply, took = await _send(url.rstrip("/") + request.target, request, own)
    record = await find_record(drafts.history(draft.slug), reply, began, is_traced=is_traced)
    return Exchanged(draft.commit, reply, took, *record)


async def send_to_live(
    at: Served, request: Outgoing, sender: str, *, is_traced: bool = True
) -> Exchanged:
    """Send a request to the live release through this machine's own port.

    Args:
        sender: the email address of the user, for the request history.
        is_traced: whether to wait until the history has its trace.

    Raises:
        ServerError: the data process does not respond.
        ToolError: the project does not exist.
    """
    reconciler = at.loop
    context = reconciler.context
    settings = context.plane.settings
    host = urlsplit(settings.url_of(context.project)).netloc
    proof = write_sender(PLAYGROUND_KEY, sender, _now() + TOKEN_SECONDS)
    own = (("host", host), (SENDER_HEADER, proof))
    url = settings.data_here + PREFIX + context.project.prefix + request.target
    began = _now()
    reply, took = await _send(url, request, own)
    commit = commit_of(reconciler.board.applied)
    record = await find_record(context.history, reply, began, is_traced=is_traced)
    return Exchanged(commit, reply, took, *record)


async def _send(
    url: str, request: Outgoing, own: tuple[tuple[str, str], ...]
) -> tuple[Reply, float]:
    began = perf_counter()
    reply = await send(
        url, request.method, (*request.headers, *own), request.body,
        timeout_seconds=RESPONSE_SECONDS, max_bytes=MAX_READ_BYTES,
    )  # fmt: skip
    return reply, round(1000 * (perf_counter() - began), 1)


async def sign_in(at: Served, draft: DraftStatus, user: DraftUser, how: DraftSignIn) -> str:
    """Return the header that signs in to a draft as one of its own users, for a minute.

    Raises:
        ToolError: the user does not exist, or cannot be found by email address.
    """
    by, value = ("email", user.email) if user.email else (how.key, user.id)
    if user.email and not how.has_email:
        raise ToolError(f"table '{how.table}' has no 'email'", hint=f"identify one by '{how.key}'")
    context = at.loop.context
    name = draft_name(context.project.name, draft.slug)
    request = SignInToDraft(name, how.table, how.key, by, value, list(how.tells))
    token = await context.plane.awake.sign_in(request)
    if not token:
        raise ToolError(
            f"the draft's own table '{how.table}' has no row with this {by}",
            hint="drafts have no live rows: sign up with a request, or add 'seed' rows",
        )
    return f"{how.scheme} {token}"


def read_subject(header: str) -> str:
    """Return the subject of a bearer token, which is not verified; empty if it has none.

    Args:
        header: the value of an authorization header, or a token alone.
    """
    try:
        claims = jwt.decode(header.rpartition(" ")[2], options={"verify_signature": False})
    except jwt.PyJWTError:
        return ""
    return str(claims.get("sub", ""))[:_MAX_SUBJECT]


async def wake(at: Served, name: str) -> tuple[ProjectDrafts, DraftStatus]:
    """Return a draft that serves its newest commit.

    Raises:
        ToolError: the draft does not exist, or does not work.
    """
    drafts, head = at.control.status.drafts(at.project), await find_head(at, name)
    if drafts is None or not head:
        call = NextCall("context_get", {}, "see which drafts there are")
        raise ToolError(f"there is no draft '{name}'", next=(call,))
    try:
        return drafts, await wait_until_ready(drafts, name, head)
    except BbopsError as error:
        check = NextCall("validate_draft", {"draft": name}, "see what is wrong")
        raise ToolError(error.message, next=(check,)) from None


async def find_head(at: Served, draft: str) -> str:
    """Return the newest commit of a draft, which need not have been polled yet; empty without."""
    source = at.loop.source
    drafts = at.control.status.drafts(at.project)
    if not is_branch(draft):
        return ""
    if not isinstance(source, BranchSource):
        found = drafts.find(draft) if drafts is not None else None
        return found.commit if found is not None else ""
    if draft == source.branch:
        return ""
    request = Resolve(str(source.repository), draft)
    build = at.loop.context.plane.build
    return (await build.ask(request, timeout_seconds=RESOLVE_SECONDS)).commit or ""


async def find_record(
    history: Path, reply: Reply, began: float, *, is_traced: bool
) -> tuple[str, str, tuple[Span, ...]]:
    """Return failure, step and spans of a request, once the history has it.

    Empty for a successful request without a trace: nothing of it is read. Also empty if the
    history does not have it in time, or never, as of endpoints with `history: off`.

    Args:
        began: a time before the request in seconds since 1970: older ones are not read.
    """
    name = dict(reply.headers).get("x-request-id", "")
    is_failed = reply.status == HTTPStatus.BAD_REQUEST or reply.status >= 500
    since = began - _CLOCK_SECONDS
    for _ in range(_ATTEMPTS if name and (is_failed or is_traced) else 0):
        await asyncio.sleep(_WAIT_SECONDS)  # the data process writes it later
        found = await ask(
            find, history, limit=_MAX_FOUND, since=since, text=name, details=True
        )  # fmt: skip
        for request in found:  # another one may have the id in its path or body
            if request["request"] == name:
                spans = tuple(Span(*span) for span in request["spans"] or ())
                return request["failure"], request["step"], spans
    return "", "", ()


def _now() -> float:
    return datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock
