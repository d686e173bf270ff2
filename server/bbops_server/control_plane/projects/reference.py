"""The API of a project to read and to try: a viewer in a frame, and the project's own pages.

What a project says is not trusted: the viewer runs in a sandbox, without a session and without a
way to this server, and prose becomes HTML without any of its own.
"""

from __future__ import annotations

import gzip
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote, urlsplit

import msgspec
from litestar import MediaType, Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, QueryParameter
from litestar.response import Template
from markupsafe import Markup

from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.contracts import find_live
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.view import PAGES, VENDOR
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.status.status import Written

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

VERSION: Final = "9.3.8"
_FOR_EVER: Final = {"cache-control": "public, max-age=31536000, immutable"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src {origin}; form-action 'none'; base-uri 'none'; frame-ancestors 'self';"
    " sandbox allow-scripts allow-popups"
)
_FRAMING: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
_SAFE: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


class Prose(msgspec.Struct, frozen=True):
    """A page of a project's folder `docs`."""

    name: str
    text: str


class _Pages(msgspec.Struct, frozen=True):
    """What is read of a contract."""

    pages: list[Prose] = []


@page("/projects/{name:str}/reference", Permission.READ_PROJECT)
async def show_reference(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show what is live."""
    pages = [one.name for one in await _find_pages(visit, name)]
    return _frame(visit, name, f"/projects/{quote(name)}/reference/view", pages=pages)


@page("/projects/{name:str}/reference/view", Permission.READ_PROJECT)
async def show_view(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the viewer itself."""
    url = next((one.url for one in visit.control.status.projects() if one.name == name), "")
    return _view(name, await find_live(visit, name, "openapi"), url)


@page("/projects/{name:str}/drafts/{slug:str}/reference", Permission.READ_PROJECT)
async def show_draft_reference(
    visit: Here, name: FromPath[str], slug: FromPath[str]
) -> Response[Any]:
    """Show what a draft would publish."""
    where = f"/projects/{quote(name)}/drafts/{quote(slug)}/reference/view"
    return _frame(visit, name, where, draft=slug)


@page("/projects/{name:str}/drafts/{slug:str}/reference/view", Permission.READ_PROJECT)
async def show_draft_view(visit: Here, name: FromPath[str], slug: FromPath[str]) -> Response[Any]:
    """Show the viewer of a draft; what it describes lets nobody in who only reads."""
    drafts = visit.control.status.drafts(name)
    draft = drafts.find(slug) if drafts is not None else None
    if drafts is None or draft is None:
        raise NotFoundException(f"there is no project '{name}', or no draft '{slug}' of it")
    try:
        found = await drafts.contract(draft.slug, "openapi")
    except BbopsError as error:
        raise refuse(error) from None
    return _view(name, found, "")


@page("/projects/{name:str}/pages", Permission.READ_PROJECT)
async def show_prose(
    visit: Here, name: FromPath[str], wanted: Annotated[str, QueryParameter(name="name")] = ""
) -> Response[Any]:
    """Show a page of the project's folder `docs`."""
    found = next((one for one in await _find_pages(visit, name) if one.name == wanted), None)
    if found is None:
        raise NotFoundException(f"project '{name}' has no page '{wanted}'")
    return visit.page("prose", project=name, name=found.name, body=render_prose(found.text))


@page("/vendor/rapidoc-min.js", Permission.BE_ANYBODY)
async def show_viewer(visit: Here) -> Response[Any]:
    """Send the code of the viewer, whose address has its version."""
    if "gzip" not in visit.request.headers.get("accept-encoding", ""):
        return Response(_viewer(), media_type="text/javascript", headers=_FOR_EVER)
    packed = _FOR_EVER | {"content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(_packed_viewer(), media_type="text/javascript", headers=packed)


@page("/reference.js", Permission.BE_ANYBODY)
async def show_script() -> Response[Any]:
    """Send what starts the viewer."""
    headers = {"cache-control": "public, max-age=300"}
    return Response(_script(), media_type="text/javascript", headers=headers)


def render_prose(text: str) -> Markup:
    """Return Markdown as HTML; what is HTML in it stays text, and links lead to the web alone."""
    return Markup(_markdown().render(text))  # noqa: S704 - it escapes all that it is given


def _frame(visit: Visit, name: str, view: str, **more: Any) -> Response[Any]:
    api = f"/api{view.removesuffix('/reference/view')}/contract"
    known = {"project": name, "view": view, "api": api, "draft": "", "pages": []}
    answer = visit.page("reference", **known | more)
    answer.headers["content-security-policy"] = _FRAMING
    return answer


def _view(name: str, found: Written, url: str) -> Response[Any]:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}" if url else "'none'"
    context = {
        "project": name, "version": VERSION, "tries": bool(url),
        "description": Markup(found.text.translate(_SAFE)),  # noqa: S704 - JSON without any of HTML's signs
    }  # fmt: skip
    headers = {
        "content-security-policy": _POLICY.format(origin=origin), "x-frame-options": "SAMEORIGIN",
    }  # fmt: skip
    return Template(
        "reference-view.html", context=context, media_type=MediaType.HTML, headers=headers
    )


async def _find_pages(visit: Visit, name: str) -> list[Prose]:
    return msgspec.json.decode((await find_live(visit, name, "json")).text, type=_Pages).pages


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - a server starts without it

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@cache
def _viewer() -> bytes:
    return (VENDOR / "rapidoc-min.js").read_bytes()


@cache
def _packed_viewer() -> bytes:
    return gzip.compress(_viewer(), 9, mtime=0)


@cache
def _script() -> bytes:
    return (PAGES / "reference.js").read_bytes()


ROUTES = (
    show_reference, show_view, show_draft_reference, show_draft_view, show_prose, show_viewer,
    show_script,
)  # fmt: skip
