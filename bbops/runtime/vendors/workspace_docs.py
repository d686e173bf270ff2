"""workspaceDocs, in the shapes of Notion's API of 2026-03-11, which takes three requests a second.

A database there has data sources, and pages are in one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError, HttpFailure
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, segment, text_at
from bbops.runtime.vendors._work import AddonFailure, Work

_ADDRESS: Final = "https://api.notion.com"
_VERSION: Final = "2026-03-11"
_PAGE: Final = 100
_MISSING: Final = "object_not_found"
_CONFLICT: Final = "conflict_error"


async def query_database(work: Work, given: Mapping[str, Any]) -> Any:
    """Read pages of a database."""
    source = await _source(work, given)
    body = pick(given, "filter", "sorts") | {"page_size": given.get("pageSize", _PAGE)}
    found = await _ask(work, "POST", f"data_sources/{segment(source, 'dataSourceId')}/query", body)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise AddonFailure("addon-answer", "the vendor returned no list of pages")
    return found | {"results": [_page(one) for one in found["results"]]}


async def create_page(work: Work, given: Mapping[str, Any]) -> Any:
    """Make a page in a database."""
    parent = {"type": "data_source_id", "data_source_id": await _source(work, given)}
    body = {"parent": parent, "properties": given["properties"]}
    return _page(await _ask(work, "POST", "pages", body | pick(given, content="children")))


async def update_page(work: Work, given: Mapping[str, Any]) -> Any:
    """Change properties of a page."""
    path = f"pages/{segment(given['pageId'], 'pageId')}"
    return _page(await _ask(work, "PATCH", path, {"properties": given["properties"]}))


async def _source(work: Work, given: Mapping[str, Any]) -> str:
    """Return the data source of a database, which has one as a rule."""
    if given.get("dataSourceId"):
        return str(given["dataSourceId"])
    path = f"databases/{segment(given['databaseId'], 'databaseId')}"
    try:
        found = await _ask(work, "GET", path)
    except HttpFailure as failure:
        if failure.answered == 404:  # it may be the id of a data source itself
            return str(given["databaseId"])
        raise
    sources = found.get("data_sources") if isinstance(found, dict) else None
    names = [text_at(one, "id") or "" for one in sources] if isinstance(sources, list) else []
    if len(names) > 1:
        raise FlowError(f"the database has several data sources: 'dataSourceId' is one of {names}")
    if not names or not names[0]:
        raise AddonFailure("addon-answer", "the vendor returned a database without data sources")
    return names[0]


def _page(found: Any) -> Any:
    """Return a page with the name that `in_trash` had before."""
    if isinstance(found, dict) and "archived" not in found:
        return found | {"archived": found.get("in_trash", False)}
    return found


async def _ask(work: Work, method: str, path: str, body: Any = UNSET) -> Any:
    headers = bearer(work.setting("integrationToken")) | {"notion-version": _VERSION}
    return await work.ask(
        method, f"{work.address(_ADDRESS)}/v1/{path}", headers, body, refusal=_refusal
    )  # fmt: skip


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    reason, said = text_at(found, "code"), text_at(found, "message")
    if reason == _MISSING:
        said = f"{said or ''} (share it with the integration)"
    return Refusal(said, reason, passes=True if reason == _CONFLICT else None)


async def probe(work: Work) -> str:
    """Return what the integration is called."""
    return text_at(await _ask(work, "GET", "users/me"), "name") or ""


STEPS: Final = {
    "queryDatabase": query_database,
    "createPage": create_page,
    "updatePage": update_page,
}
PROBE: Final = probe
