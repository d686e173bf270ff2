"""Git over HTTP: clients authenticate with a token, and errors are plain text."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from litestar import Request, asgi
from litestar.exceptions import HTTPException

from bbops_server.accounts.rules import NOBODY, Permission
from bbops_server.control_plane.web.routes import HAS_OWN_AUTH, find_refusal
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import Visit
from bbops_server.git_http.backend import GitRequest, Line, Refusal, read_request
from bbops_server.git_http.repository import Repository, find_repository, knows
from bbops_server.git_http.serving import GitHttp

_SIGN_IN_HINT: Final = (
    "a token with the scope 'git' is needed as the password; create one on the page Account,"
    " or with 'bbops login --scope git'"
)
_CHALLENGE: Final = {"www_authenticate": 'Basic realm="bbops"'}
_REMOVED_HEADERS: Final = frozenset({b"authorization", b"cookie"})


@asgi("/git", is_mount=True, copy_scope=True, opt={HAS_OWN_AUTH: True})
async def answer_git(scope: Any, receive: Any, send: Any) -> None:
    """Serve git clients below `/git/NAME.git`."""
    control: ControlState = scope["litestar_app"].state.control
    try:
        request = read_request(scope)
        visit = await _identify(scope, control)
        await _serve(request, visit, Line(receive, send))
    except Refusal as refusal:
        await _refuse(send, refusal)


async def _serve(request: GitRequest, visit: Visit, line: Line) -> None:
    git = visit.control.git
    if git is None:
        raise Refusal(404, "this server has no repositories")
    repository, caller = await _find(git, request, visit), visit.caller

    async def is_same() -> bool:
        try:
            await visit.identify()
        except HTTPException:
            return False
        return visit.caller == caller

    push = await git.answer(request, repository, caller, line, is_same)
    for change, outcome in push.outcomes() if push is not None else ():
        await visit.note("push", object=f"{request.project} {change}", outcome=outcome)


async def _find(git: GitHttp, request: GitRequest, visit: Visit) -> Repository:
    """Return the repository of a request.

    Raises:
        Refusal: the project does not exist, or the caller has no permission for it.
    """
    permission = Permission.PUSH_DRAFT if request.is_push else Permission.CLONE
    if not visit.may(permission, request.project):
        refusal = find_refusal(visit.caller, permission, request.project)
        if request.is_push:
            await visit.note("push", object=request.project, outcome="refused")
        raise Refusal(refusal.status_code, refusal.detail)
    if not knows(git.projects, request.project):
        raise Refusal(404, f"there is no project '{request.project}'")
    repository = find_repository(git.projects, request.project)
    if not repository.allows(visit.caller, Permission.CLONE):  # the push itself is checked by path
        raise Refusal(
            403,
            "this repository holds other projects, too, which you may not read; ask an owner for"
            " the role 'viewer' in each of them",
        )
    return repository


async def _identify(scope: Any, control: ControlState) -> Visit:
    """Authenticate the caller, by a token only: no page of another site can send one.

    Raises:
        Refusal: the token is missing or not valid.
    """
    authorization = dict(scope["headers"]).get(b"authorization")
    headers = [field for field in scope["headers"] if field[0] not in _REMOVED_HEADERS]
    if authorization is not None:
        headers.append((b"authorization", _as_bearer(authorization)))
    visit = Visit(Request(scope | {"headers": headers, "type": "http"}), control)
    try:
        await visit.identify()
    except HTTPException as error:
        raise Refusal(401, error.detail, **_CHALLENGE) from None
    if visit.caller == NOBODY:
        raise Refusal(401, _SIGN_IN_HINT, **_CHALLENGE)
    return visit


def _as_bearer(authorization: bytes) -> bytes:
    """Return the password of Basic authentication as a bearer token; the user name is ignored."""
    scheme, _, credentials = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return authorization
    try:
        return b"Bearer " + base64.b64decode(credentials, validate=True).partition(b":")[2]
    except binascii.Error:
        return b"Bearer"


async def _refuse(send: Any, refusal: Refusal) -> None:
    """Send an error as plain text, which git prints."""
    body = f"{refusal.message}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    fields = [(name.encode(), text.encode()) for name, text in (headers | refusal.headers).items()]
    await send({"type": "http.response.start", "status": refusal.status.value, "headers": fields})
    await send({"type": "http.response.body", "body": body})


ROUTES = (answer_git,)
