"""The way to the repositories: who comes from git is known by a token, and told in plain text."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from litestar import Request, asgi
from litestar.exceptions import HTTPException

from bbops_server.accounts.rules import NOBODY, Permission
from bbops_server.control_plane.web.permissions import find_refusal
from bbops_server.control_plane.web.routes import IS_DOOR
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import Visit
from bbops_server.git_http.backend import Line
from bbops_server.git_http.repository import Repository, find_repository, knows
from bbops_server.git_http.request import GitRequest, Refusal, read_request
from bbops_server.git_http.serving import GitHttp

_WHO: Final = (
    "a token with the scope 'git' is needed as the password; the page Account makes one,"
    " or 'bbops login --scope git'"
)
_ASKING: Final = {"www_authenticate": 'Basic realm="bbops"'}
_NOT_PASSED_ON: Final = frozenset({b"authorization", b"cookie"})


@asgi("/git", is_mount=True, copy_scope=True, opt={IS_DOOR: True})
async def answer_git(scope: Any, receive: Any, send: Any) -> None:
    """Answer git clients below `/git/NAME.git`."""
    control: ControlState = scope["litestar_app"].state.control
    try:
        asked = read_request(scope)
        visit = await _identify(scope, control)
        await _serve(asked, visit, Line(receive, send))
    except Refusal as refusal:
        await _refuse(send, refusal)


async def _serve(asked: GitRequest, visit: Visit, line: Line) -> None:
    git = visit.control.git
    if git is None:
        raise Refusal(404, "this server has no repositories")
    repository, caller = await _find(git, asked, visit), visit.caller

    async def is_same() -> bool:
        try:
            await visit.identify()
        except HTTPException:
            return False
        return visit.caller == caller

    push = await git.answer(asked, repository, caller, line, is_same)
    for what, outcome in push.outcomes() if push is not None else ():
        await visit.note("push", object=f"{asked.project} {what}", outcome=outcome)


async def _find(git: GitHttp, asked: GitRequest, visit: Visit) -> Repository:
    """Return the repository that is asked for.

    Raises:
        Refusal: there is none that they may do this with.
    """
    permission = Permission.PUSH_DRAFT if asked.is_push else Permission.CLONE
    if not visit.may(permission, asked.project):
        found = find_refusal(visit.caller, permission, asked.project)
        if asked.is_push:
            await visit.note("push", object=asked.project, outcome="refused")
        raise Refusal(found.status_code, found.detail)
    if not knows(git.projects, asked.project):
        raise Refusal(404, f"there is no project '{asked.project}'")
    repository = find_repository(git.projects, asked.project)
    if not repository.allows(visit.caller, Permission.CLONE):  # the rest is judged by its files
        raise Refusal(
            403,
            "this repository holds other projects, too, which you may not read; ask an owner for"
            " the role 'viewer' in each of them",
        )
    return repository


async def _identify(scope: Any, control: ControlState) -> Visit:
    """Find out who asks: by a token alone, which no page of another site can send.

    Raises:
        Refusal: it is nobody.
    """
    given = dict(scope["headers"]).get(b"authorization")
    kept = [one for one in scope["headers"] if one[0] not in _NOT_PASSED_ON]
    if given is not None:
        kept.append((b"authorization", _as_bearer(given)))
    visit = Visit(Request(scope | {"headers": kept, "type": "http"}), control)
    try:
        await visit.identify()
    except HTTPException as error:
        raise Refusal(401, error.detail, **_ASKING) from None
    if visit.caller == NOBODY:
        raise Refusal(401, _WHO, **_ASKING)
    return visit


def _as_bearer(given: bytes) -> bytes:
    """Return the password of Basic as what it is, a token; the user's name says nothing."""
    scheme, _, words = given.partition(b" ")
    if scheme.lower() != b"basic":
        return given
    try:
        return b"Bearer " + base64.b64decode(words, validate=True).partition(b":")[2]
    except binascii.Error:
        return b"Bearer"


async def _refuse(send: Any, refusal: Refusal) -> None:
    """Answer in plain text, which git shows."""
    body = f"{refusal.message}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    fields = [(name.encode(), text.encode()) for name, text in (headers | refusal.headers).items()]
    await send({"type": "http.response.start", "status": refusal.status.value, "headers": fields})
    await send({"type": "http.response.body", "body": body})


ROUTES = (answer_git,)
