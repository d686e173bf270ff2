"""The API reference of a project, and its own pages.

Texts of a project are not trusted: HTML in its Markdown is escaped.
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
from bbops.review.contract.sessions import endpoint_name, session_lines
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.contracts import find_draft, find_live
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.process.messages.builds import WrittenContract

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

ANCHOR = "#shape-"


class _Pages(msgspec.Struct, frozen=True):
    """The pages of a contract, to decode only these."""

    pages: list[Page] = []


@page("/projects/{name:str}/reference", Permission.READ_PROJECT)
async def show_reference(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the reference of the live release."""
    contract = await find_live(visit, name, "json")
    status = visit.control.project(name)
    return _show(visit, name, contract, url=status.url if status else "")


@page("/projects/{name:str}/drafts/{slug:str}/reference", Permission.READ_PROJECT)
async def show_draft_reference(
    visit: Here, name: FromPath[str], slug: FromPath[str]
) -> Response[Any]:
    """Show the reference of a draft."""
    return _show(visit, name, await find_draft(visit, name, slug, "json"), draft=slug)


@page("/projects/{name:str}/pages", Permission.READ_PROJECT)
async def show_prose(
    visit: Here, name: FromPath[str], page_name: Annotated[str, QueryParameter(name="name")] = ""
) -> Response[Any]:
    """Show a page of the project's folder `docs`."""
    pages = msgspec.json.decode((await find_live(visit, name, "json")).text, type=_Pages).pages
    shown = next((each for each in pages if each.name == page_name), None)
    if shown is None:
        raise NotFoundException(f"project '{name}' has no page '{page_name}'")
    return visit.page("prose", project=name, name=shown.name, body=render_prose(shown.text))


async def list_prose(visit: Visit, name: str) -> list[str]:
    """Return the names of the pages of the live release. Raises: HTTPException: it has none."""
    text = (await find_live(visit, name, "json")).text
    return [page.name for page in msgspec.json.decode(text, type=_Pages).pages]


def render_prose(text: str) -> Markup:
    """Return Markdown as HTML, with its HTML escaped and links to web addresses only."""
    return Markup(_markdown().render(text))  # noqa: S704 - the renderer escapes HTML


def render_line(text: str) -> Markup:
    """Return a line of Markdown as inline HTML, escaped as by `render_prose`."""
    return Markup(_markdown().renderInline(text))  # noqa: S704 - the renderer escapes HTML


def _show(
    visit: Visit, name: str, rendered: WrittenContract, *, url: str = "", draft: str = ""
) -> Response[Any]:
    contract = msgspec.json.decode(rendered.text, type=Contract)
    base = f"/projects/{quote(name)}/drafts/{quote(draft)}" if draft else f"/projects/{quote(name)}"
    groups = [
        (tag, list(operations))
        for tag, operations in groupby(contract.operations, lambda operation: operation.tag)
    ]
    return visit.page(
        "reference", project=name, draft=draft, contract=contract, groups=groups,
        address=contract.server or url, session="\n".join(session_lines(contract)),
        api=f"/api{base}/contract", anchor=ANCHOR, prose=render_prose, line=render_line,
        wording=wording, pretty=_pretty, link=OutlineLinks(name, draft),
        endpoint_name=endpoint_name,
    )  # fmt: skip


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - slow, and not needed to start

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    markdown.core.ruler.push("lower_headings", _lower_headings)
    return markdown


def _lower_headings(state: StateCore) -> None:
    """Lower each heading by a level: the page has its own first heading."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + 1, 6)}"


PANEL = Panel("Build", 90, "API reference", "book", "/reference")
ROUTES = (show_reference, show_draft_reference, show_prose)
