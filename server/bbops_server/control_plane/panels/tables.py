"""The tables of a project: columns, rules, and the resources that use them."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromPath

from bbops.review.outline.outline import TableOutline
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlinePage, PageNumber, Search
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here


@page("/projects/{name:str}/tables", Permission.READ_PROJECT)
async def show_tables(
    visit: Here, name: FromPath[str], words: Search = "", number: PageNumber = 1
) -> Response[Any]:
    """Show the tables of a project."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Tables")
    listed = shown.list_rows("tables", shown.outline.tables, words, number, _search_text)
    return shown.show("tables", listed=listed)


@page("/projects/{name:str}/tables/{table:str}", Permission.READ_PROJECT)
async def show_table(visit: Here, name: FromPath[str], table: FromPath[str]) -> Response[Any]:
    """Show a table: its columns, indexes, rules and uses."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Table")
    tables = shown.outline.tables
    found = shown.pick(table, tables)
    if found is None:
        return shown.show_missing("table", table, tables, shown.links.table)
    return shown.show("table", table=found)


def _search_text(table: TableOutline) -> str:
    return " ".join((table.name, table.description, *(column.name for column in table.columns)))


PANEL = Panel("Build", 30, "Tables", "table", "/tables", count="tables", in_drafts=True)
ROUTES = (show_tables, show_table)
