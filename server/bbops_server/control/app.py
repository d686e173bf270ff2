"""The control plane's application: what the server says about its projects, and is told."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, get, post
from litestar.exceptions import ClientException, HTTPException, NotFoundException
from litestar.middleware import DefineMiddleware
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.params import Body, QueryParameter

import bbops
from bbops.errors import ServerError
from bbops.runtime.flow import code_of
from bbops_server.control.guard import Guard
from bbops_server.control.page import render_html, render_text
from bbops_server.live.history import find
from bbops_server.reconciler.status import ServerStatus, Status, StatusSource

_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}

AnyRequest = Request[Any, Any, Any]


class Summary(msgspec.Struct, frozen=True):
    """One project in the list."""

    name: str
    revision: str | None
    url: str
    ready: bool


class Decision(msgspec.Struct, frozen=True):
    """The commit to serve: its id, or at least seven digits of it."""

    commit: str


class Accepted(msgspec.Struct, frozen=True):
    """The server will look soon; its status says what comes of it."""

    status: str = "accepted"


def create_control(status: StatusSource) -> Litestar:
    """Return the control plane's application; its own description is at /schema/openapi.json."""

    @get("/", include_in_schema=False, sync_to_thread=False)
    def page(request: AnyRequest) -> Response[str]:
        wants_html = "text/html" in request.headers.get("accept", "")
        render = render_html if wants_html else render_text
        kind = MediaType.HTML if wants_html else MediaType.TEXT
        content = render(status.server(), status.projects())
        return Response(content, media_type=kind, headers=_PAGE_HEADERS)

    @get("/api/server", sync_to_thread=False)
    def read_server() -> ServerStatus:
        """The file that names this server's projects, if there is one, and what is wrong in it."""
        return status.server()

    @get("/api/projects", sync_to_thread=False)
    def list_projects() -> list[Summary]:
        """Every project of this server."""
        return [_summary(one) for one in status.projects()]

    @get("/api/projects/{name:str}/status", sync_to_thread=False)
    def read_status(request: AnyRequest) -> Status:
        """How far one project is: its conditions, diagnostics and last publications."""
        name = request.path_params["name"]
        for one in status.projects():
            if one.name == name:
                return one
        raise _unknown(name)

    @post("/api/projects/{name:str}/reconcile", status_code=202, sync_to_thread=False)
    def reconcile(request: AnyRequest) -> Accepted:
        """Look at the project's repository now instead of at the next turn."""
        name = request.path_params["name"]
        if not status.reconcile(name):
            raise _unknown(name)
        return Accepted()

    @post("/api/projects/{name:str}/accept", status_code=202, sync_to_thread=False)
    def accept(request: AnyRequest, data: Annotated[Decision, Body()]) -> Accepted:
        """Serve a commit that is held because its history was rewritten."""
        name = request.path_params["name"]
        try:
            is_known = status.accept(name, data.commit)
        except ServerError as error:
            raise ClientException(error.message, status_code=409) from None
        if not is_known:
            raise _unknown(name)
        return Accepted()

    @get("/api/projects/{name:str}/requests")
    async def list_requests(
        request: AnyRequest,
        limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 50,
        after: Annotated[int, QueryParameter(ge=0)] = 0,
        status_filter: Annotated[
            str | None, QueryParameter(name="status", pattern="^[1-5]([0-9]{2}|xx)$")
        ] = None,
        method: Annotated[str | None, QueryParameter()] = None,
        path: Annotated[str | None, QueryParameter()] = None,
        slower_than: Annotated[float | None, QueryParameter()] = None,
    ) -> list[dict[str, Any]]:
        """The newest requests the project answered, newest last; `after` is an id seen before."""
        name = request.path_params["name"]
        history = status.history(name)
        if history is None:
            raise _unknown(name)
        filters = {
            "status": status_filter, "method": method, "path": path, "slower_than": slower_than,
        }  # fmt: skip
        return await asyncio.to_thread(find, history, limit=limit, after=after, **filters)

    schema = OpenAPIConfig(
        title="bbops control plane",
        version=bbops.__version__,
        path="/schema",
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        use_handler_docstrings=True,
    )
    return Litestar(
        [page, read_server, list_projects, read_status, reconcile, accept, list_requests],
        openapi_config=schema,
        exception_handlers={HTTPException: _explain},
        middleware=[DefineMiddleware(Guard)],
        logging_config=None,
        debug=False,
    )


def _summary(status: Status) -> Summary:
    return Summary(status.name, status.applied_revision, status.url, status.is_ready)


def _unknown(name: str) -> NotFoundException:
    return NotFoundException(f"there is no project '{name}'")


def _explain(_: AnyRequest, error: HTTPException) -> Response[dict[str, Any]]:
    body = {"error": {"code": code_of(error.status_code), "message": error.detail}}
    return Response(
        body, status_code=error.status_code, media_type=MediaType.JSON, headers=error.headers
    )
