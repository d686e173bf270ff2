"""Routes of the control plane, and the permission that each requires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from litestar import Request, get, post
from litestar.connection import ASGIConnection
from litestar.di import Provide
from litestar.exceptions import HTTPException, NotFoundException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from bbops_server.accounts.rules import RULES, Caller, Permission, may, role_in
from bbops_server.control_plane.web.frame import asked_draft
from bbops_server.control_plane.web.visit import AnyRequest, Visit, unauthorized

PERMISSION: Final = "permission"
IS_FORM: Final = "is_form"

HAS_OWN_AUTH: Final = "has_own_auth"
"""Marks a route that authenticates and authorizes its requests by other means than `require`."""


RouteDecorator = Callable[[Callable[..., Any]], HTTPRouteHandler]


def page(path: str, permission: Permission) -> RouteDecorator:
    """Return a decorator for a page for people."""
    return get(path, include_in_schema=False, opt={PERMISSION: permission})


def form(path: str, permission: Permission) -> RouteDecorator:
    """Return a decorator for a form of a page, which needs its page's CSRF token."""
    opt = {PERMISSION: permission, IS_FORM: True}
    return post(path, include_in_schema=False, status_code=200, opt=opt)


def read(
    path: str, permission: Permission, dependencies: Mapping[str, Provide] | None = None
) -> RouteDecorator:
    """Return a decorator for an API call that changes nothing."""
    return get(path, opt={PERMISSION: permission}, dependencies=dependencies)


def change(
    path: str, permission: Permission, *, status: int = 202,
    dependencies: Mapping[str, Provide] | None = None,
) -> RouteDecorator:  # fmt: skip
    """Return a decorator for an API call that changes something."""
    opt = {PERMISSION: permission}
    return post(path, status_code=status, opt=opt, dependencies=dependencies)


# ---- Admit requests whose caller has the permission of the route, and reject others

_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


async def require(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """Admit a request if its caller has the permission of the route.

    Raises:
        NotAuthorizedException: the request is not authenticated.
        PermissionDeniedException: the role or scope does not suffice, or the CSRF token is wrong.
        NotFoundException: the caller has no role in the project, so its existence is not revealed.
    """
    if connection.scope.get("method") == "OPTIONS":
        return
    if HAS_OWN_AUTH in handler.opt:
        return
    permission: Permission | None = handler.opt.get(PERMISSION)
    if permission is None or not isinstance(connection, Request):
        raise PermissionDeniedException("this route declares no permission")
    visit = connection.state.visit = Visit(connection, connection.app.state.control)
    await visit.identify()
    project = str(connection.path_params.get("name", ""))
    is_allowed = visit.may(permission, project)
    if visit.caller.how == "nobody" and not is_allowed:
        raise unauthorized("sign in first, or send a token: 'bbops login' makes one")
    if connection.method not in _SAFE_METHODS:
        await visit.check_csrf(is_form=IS_FORM in handler.opt)
    if not is_allowed:
        await _refuse(visit, permission, project)
    if project and not connection.url.path.startswith("/api/"):
        await visit.control.outlines.prepare(project, asked_draft(visit))


async def require_permission(visit: Visit, permission: Permission, project: str) -> None:
    """Require a permission beyond the permission of the route. Raises as `require`."""
    if not visit.may(permission, project):
        await _refuse(visit, permission, project)


async def _refuse(visit: Visit, permission: Permission, project: str) -> None:
    if visit.request.method not in _SAFE_METHODS:
        await visit.note(permission, object=visit.request.url.path, outcome="refused")
    raise find_refusal(visit.caller, permission, project)


def find_refusal(caller: Caller, permission: Permission, project: str) -> HTTPException:
    """Return the error for an authenticated caller without a permission."""
    rule = RULES[permission]
    if caller.how == "ci" and (not project or caller.project == project):
        return PermissionDeniedException(
            "the token of a workflow can only publish its project, and read its status and drafts"
        )
    if rule.where == "project" and role_in(caller, project) is None:
        return NotFoundException(f"there is no project '{project}'")
    if caller.how == "token" and rule.scope is None:
        return PermissionDeniedException("this cannot be done with a token; sign in with a browser")
    if caller.project and caller.project != project:
        return PermissionDeniedException(f"this token is for project '{caller.project}' alone")
    if caller.how == "token" and may(_without_token(caller), permission, project):
        return PermissionDeniedException(
            f"this token may not {permission}: the scope required is '{rule.scope}'"
        )
    needed = f": the role required is '{rule.role}'" if rule.role else ""
    return PermissionDeniedException(f"you may not {permission}{needed}")


def _without_token(caller: Caller) -> Caller:
    return Caller("session", caller.person, role=caller.role, projects=caller.projects)


def read_visit(request: AnyRequest) -> Visit:
    """Return the visit that `require` has opened."""
    visit: Visit = request.state.visit
    return visit
