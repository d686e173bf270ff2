"""The control plane's application: its routes, guards and error handlers."""

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
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError, ControlAway
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.guard import SAFE_HEADERS, BrowserGuard
from bbops_server.control_plane.web.islands import Islands
from bbops_server.control_plane.web.refusals import error_text, refuse
from bbops_server.control_plane.web.routes import PERMISSION, read_visit, require
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.view import create_template_config
from bbops_server.control_plane.web.visit import Visit, sign_in_path
from bbops_server.process.application import Application

MAX_BODY_BYTES = 64 << 10
ROOMS = (
    "panels", "islands", "projects", "playground", "agents", "sign_in", "people", "proposals", "ci",
    "forges",
)  # fmt: skip
"""Packages with routes: each module has `ROUTES`, and a `PANEL` for the side bar."""

_log = logging.getLogger(__name__)

AnyRequest = Request[Any, Any, Any]


def create_control(control: ControlState) -> Litestar:
    """Return the control plane's application; its OpenAPI document is /schema/openapi.json.

    Every route declares its permission: `require` rejects requests to a route without one.
    """
    public, modules = {PERMISSION: Permission.BE_ANYBODY}, find_route_modules()
    islands, panels = Islands.load(), _find_panels(modules)
    schema = OpenAPIConfig(
        title="bbops control plane",
        version=bbops.__version__,
        openapi_router=Router("/schema", route_handlers=[], include_in_schema=False, opt=public),
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        use_handler_docstrings=True,
    )
    return Application(
        [route for module in modules for route in module.ROUTES],
        openapi_config=schema,
        template_config=create_template_config(panels, islands),
        guards=[require],
        dependencies={"visit": Provide(read_visit, sync_to_thread=False)},
        exception_handlers={
            HTTPException: _handle_http,
            AccountError: _handle_account,
            ControlAway: _handle_unavailable,
            Exception: _handle_unexpected,
        },
        middleware=[DefineMiddleware(BrowserGuard)],
        request_max_body_size=MAX_BODY_BYTES,
        state=State({"control": control, "islands": islands, "panels": panels}),
        logging_config=None,
        debug=False,
    )


def find_route_modules() -> list[ModuleType]:
    """Return each module with routes."""
    rooms = (members(f"{__package__}.{room}") for room in ROOMS)
    return [module for room in rooms for _, module in room if hasattr(module, "ROUTES")]


def _find_panels(modules: Iterable[ModuleType]) -> list[Panel]:
    return [module.PANEL for module in modules if hasattr(module, "PANEL")]


def _handle_account(request: AnyRequest, error: AccountError) -> Response[Any]:
    return _handle_http(request, refuse(error, ClientException.status_code))


def _handle_unavailable(request: AnyRequest, error: ControlAway) -> Response[Any]:
    _log.warning("%s", error.message)
    away = ServiceUnavailableException(
        "the accounts cannot be read at the moment", headers={"Retry-After": "5"}
    )
    return _handle_http(request, away)


def _handle_unexpected(request: AnyRequest, error: Exception) -> Response[Any]:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _handle_http(request, InternalServerException("unexpected error"))


def _handle_http(request: AnyRequest, error: HTTPException) -> Response[Any]:
    """Return an error in the client's format: a page for a browser, JSON for a program."""
    visit: Visit | None = request.state.get("visit")
    if visit is None and error.status_code == HTTPStatus.NOT_FOUND:  # no route has opened a visit
        visit = Visit(request, request.app.state.control)
    is_page = not request.url.path.startswith(("/api/", "/schema"))
    if visit is not None and is_page and "text/html" in request.headers.get("accept", ""):
        if error.status_code == 401:
            return visit.go(sign_in_path(request))
        shown = AccountError(error_text(error))
        title = "Not found" if error.status_code == HTTPStatus.NOT_FOUND else "This cannot be done"
        answer = visit.page("message", error.status_code, title=title, error=shown)
        answer.headers.update(SAFE_HEADERS)  # the guard is not called for unknown paths
        return answer
    body = {"error": {"code": code_of(error.status_code), "message": error_text(error)}}
    return Response(
        body, status_code=error.status_code, media_type=MediaType.JSON, headers=error.headers
    )
