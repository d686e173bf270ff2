"""The control plane's application: what the server says about its projects, and is told."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from http import HTTPStatus
from types import ModuleType
from typing import Any

from litestar import Litestar, MediaType, Request, Response, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import (
    ClientException,
    HTTPException,
    InternalServerException,
    ServiceUnavailableException,
)
from litestar.middleware import DefineMiddleware
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

import bbops
from bbops.base.registry import members
from bbops.runtime.flow.run import code_of
from bbops_server.accounts.errors import AccountError, ControlAway
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.guard import Guard
from bbops_server.control_plane.web.permissions import read_visit, require
from bbops_server.control_plane.web.refusals import refuse, words_of
from bbops_server.control_plane.web.routes import PERMISSION, Tab
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.view import create_template_config
from bbops_server.control_plane.web.visit import Visit, signin_path
from bbops_server.process.application import Application

MAX_BODY_BYTES = 64 << 10
ROOMS = ("projects", "agents", "sign_in", "people", "proposals")
"""Where routes are: each module there that has `ROUTES`, and a `TAB` of a project's pages."""

_log = logging.getLogger(__name__)

AnyRequest = Request[Any, Any, Any]


def create_control(control: ControlState) -> Litestar:
    """Return the control plane's application; its own description is at /schema/openapi.json.

    Every route names the permission it takes: `require` lets nobody in otherwise.
    """
    public, parts = {PERMISSION: Permission.BE_ANYBODY}, find_parts()
    schema = OpenAPIConfig(
        title="bbops control plane",
        version=bbops.__version__,
        openapi_router=Router("/schema", route_handlers=[], include_in_schema=False, opt=public),
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        use_handler_docstrings=True,
    )
    return Application(
        [route for part in parts for route in part.ROUTES],
        openapi_config=schema,
        template_config=create_template_config(_find_tabs(parts)),
        guards=[require],
        dependencies={"visit": Provide(read_visit, sync_to_thread=False)},
        exception_handlers={
            HTTPException: _explain,
            AccountError: _refuse,
            ControlAway: _wait,
            Exception: _apologize,
        },
        middleware=[DefineMiddleware(Guard)],
        request_max_body_size=MAX_BODY_BYTES,
        state=State({"control": control}),
        logging_config=None,
        debug=False,
    )


def find_parts() -> list[ModuleType]:
    """Return each module with routes."""
    rooms = (members(f"{__package__}.{room}") for room in ROOMS)
    return [module for room in rooms for _, module in room if hasattr(module, "ROUTES")]


def _find_tabs(parts: Iterable[ModuleType]) -> list[Tab]:
    return sorted(part.TAB for part in parts if hasattr(part, "TAB"))


def _refuse(request: AnyRequest, error: AccountError) -> Response[Any]:
    return _explain(request, refuse(error, ClientException.status_code))


def _wait(request: AnyRequest, error: ControlAway) -> Response[Any]:
    _log.warning("%s", error.message)
    away = ServiceUnavailableException(
        "the accounts cannot be read at the moment", headers={"Retry-After": "5"}
    )
    return _explain(request, away)


def _apologize(request: AnyRequest, error: Exception) -> Response[Any]:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _explain(request, InternalServerException("unexpected error"))


def _explain(request: AnyRequest, error: HTTPException) -> Response[Any]:
    """Answer as the one who asks reads: a page for a browser, JSON for a program."""
    visit: Visit | None = request.state.get("visit")
    if visit is None and error.status_code == HTTPStatus.NOT_FOUND:  # no route has made one
        visit = Visit(request, request.app.state.control)
    is_page = not request.url.path.startswith(("/api/", "/schema"))
    if visit is not None and is_page and "text/html" in request.headers.get("accept", ""):
        if error.status_code == 401:
            return visit.go(signin_path(request))
        said = AccountError(words_of(error))
        title = "Not found" if error.status_code == HTTPStatus.NOT_FOUND else "This cannot be done"
        return visit.page("message", error.status_code, title=title, error=said)
    body = {"error": {"code": code_of(error.status_code), "message": words_of(error)}}
    return Response(
        body, status_code=error.status_code, media_type=MediaType.JSON, headers=error.headers
    )
