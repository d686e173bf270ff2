"""The functions of a project, and the steps of each one."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromPath

from bbops.review.outline.outline import FunctionOutline
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlinePage, PageNumber, Search, TabName
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here


@page("/projects/{name:str}/functions", Permission.READ_PROJECT)
async def show_functions(
    visit: Here, name: FromPath[str], words: Search = "", number: PageNumber = 1
) -> Response[Any]:
    """Show the functions of a project, without the inline steps of endpoints."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Functions")
    rows = [function for function in shown.outline.functions if not function.is_inline]
    listed = shown.list_rows("functions", rows, words, number, _search_text)
    return shown.show("functions", listed=listed)


@page("/projects/{name:str}/functions/{function:path}", Permission.READ_PROJECT)
async def show_function(
    visit: Here, name: FromPath[str], function: FromPath[str], tab: TabName = ""
) -> Response[Any]:
    """Show a function: its steps, tests or YAML."""
    shown = await OutlinePage.open(visit, name)
    outline = shown.outline
    if outline is None:
        return shown.show_errors("Function")
    named = [each for each in outline.functions if not each.is_inline]
    found = shown.pick(function, named)
    if found is None:
        return shown.show_missing("function", function, named, shown.links.function)
    tests = [test for test in outline.tests if test.name in found.tests]
    current = tab if tab in {"tests", "yaml"} else "steps"
    cases = sum(len(test.cases) for test in tests)
    titles = {"steps": ("Steps", len(found.steps)), "tests": ("Tests", cases), "yaml": ("YAML", "")}
    return shown.show(
        "function", function=found, tab=current, tests=tests,
        tabs=[
            (title, shown.links.to(f"functions/{found.name}", tab=key), key == current, count)
            for key, (title, count) in titles.items()
        ],
        source=await shown.read(found.file) if current == "yaml" else None,
    )  # fmt: skip


def _search_text(function: FunctionOutline) -> str:
    return " ".join((function.name, function.description, *function.reads, *function.writes))


PANEL = Panel("Build", 20, "Functions", "flow", "/functions", count="functions", in_drafts=True)
ROUTES = (show_functions, show_function)
