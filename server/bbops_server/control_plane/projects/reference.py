"""The API of a project to read, and the pages that the project wrote about it.

What a project says is not trusted: its prose becomes HTML without any of its own.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import msgspec
from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, QueryParameter
from markupsafe import Markup

from bbops.review.contract import wording
from bbops.review.contract.contract import Contract, Page
from bbops.review.contract.session_words import session_lines
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.contracts import find_draft, find_live
from bbops_server.control_plane.web.routes import Tab, page
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.status.status import Written

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

ANCHOR = "#shape-"


class _Pages(msgspec.Struct, frozen=True):
    """What is read of a contract for its pages alone."""

    pages: list[Page] = []


@page("/projects/{name:str}/reference", Permission.READ_PROJECT)
async def show_reference(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show what is live."""
    found = await find_live(visit, name, "json")
    url = next((one.url for one in visit.control.status.projects() if one.name == name), "")
    return _show(visit, name, found, url=url)


@page("/projects/{name:str}/drafts/{slug:str}/reference", Permission.READ_PROJECT)
async def show_draft_reference(
    visit: Here, name: FromPath[str], slug: FromPath[str]
) -> Response[Any]:
    """Show what a draft would publish."""
    return _show(visit, name, await find_draft(visit, name, slug, "json"), draft=slug)


@page("/projects/{name:str}/pages", Permission.READ_PROJECT)
async def show_prose(
    visit: Here, name: FromPath[str], wanted: Annotated[str, QueryParameter(name="name")] = ""
) -> Response[Any]:
    """Show a page of the project's folder `docs`."""
    pages = msgspec.json.decode((await find_live(visit, name, "json")).text, type=_Pages).pages
    found = next((one for one in pages if one.name == wanted), None)
    if found is None:
        raise NotFoundException(f"project '{name}' has no page '{wanted}'")
    return visit.page("prose", project=name, name=found.name, body=render_prose(found.text))


def render_prose(text: str) -> Markup:
    """Return Markdown as HTML; what is HTML in it stays text, and links lead to the web alone."""
    return Markup(_markdown().render(text))  # noqa: S704 - it escapes all that it is given


def render_line(text: str) -> Markup:
    """Return a line of Markdown as `render_prose` does, without a paragraph around it."""
    return Markup(_markdown().renderInline(text))  # noqa: S704 - it escapes all that it is given


def _show(
    visit: Visit, name: str, found: Written, *, url: str = "", draft: str = ""
) -> Response[Any]:
    contract = msgspec.json.decode(found.text, type=Contract)
    base = f"/projects/{quote(name)}/drafts/{quote(draft)}" if draft else f"/projects/{quote(name)}"
    groups = [(tag, list(some)) for tag, some in groupby(contract.operations, lambda one: one.tag)]
    return visit.page(
        "reference", project=name, draft=draft, contract=contract, groups=groups,
        address=contract.server or url, session="\n".join(session_lines(contract)),
        api=f"/api{base}/contract", anchor=ANCHOR, prose=render_prose, line=render_line,
        wording=wording, pretty=_pretty,
    )  # fmt: skip


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - a server starts without it

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


TAB = Tab(40, "API", "/reference")
ROUTES = (show_reference, show_draft_reference, show_prose)
