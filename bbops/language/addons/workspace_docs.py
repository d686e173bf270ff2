"""workspaceDocs: databases and pages of a workspace."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, BOOLEAN, TEXT, list_of, map_of

_PAGE = map_of(
    {
        "id": TEXT, "url": TEXT, "created_time": TEXT, "last_edited_time": TEXT,
        "archived": BOOLEAN, "properties": ANY,
    },
    "the page",
)  # fmt: skip


class Config(Model):
    """Databases must be shared with the integration first. `endpoint` is for a stand-in."""

    integration_token: Secret = Field(description="The token of an integration of Notion, `ntn_…`.")
    endpoint: Setting | None = Field(
        default=None, description="The address of a stand-in for Notion, for tests."
    )


_PER_SECOND = 3.0
"""Requests that the vendor accepts from one integration; others wait, 20 s at most."""

_SOURCE = may("dataSourceId", "text", "Of a database that has several data sources")

ADDON = AddonKind(
    "Workspace Docs",
    "Databases and pages of a workspace.",
    Config,
    {
        "queryDatabase": AddonAction(
            "Query Database",
            "Read pages of a database.",
            (
                need("databaseId"),
                may("filter", "map"),
                may("sorts", "list"),
                may("pageSize", "integer", "100 if left out", limits=(1, 100)),
                _SOURCE,
            ),
            map_of(
                {"results": list_of(_PAGE), "has_more": BOOLEAN, "next_cursor": TEXT.or_null()},
                "the query",
            ),
            "- workspaceDocs.queryDatabase: { databaseId: d1, pageSize: 10 }\n"
            "  as: found\n"
            "- return:\n"
            "    value: ${ vars.found.results | pluck('id') }",
            repeat="safe",
            per_second=_PER_SECOND,
            writes=False,
        ),
        "createPage": AddonAction(
            "Create Page",
            "Make a page in a database.",
            (
                need("databaseId"),
                need("properties", "map"),
                may("content", "list", "Blocks"),
                _SOURCE,
            ),
            _PAGE,
            "- workspaceDocs.createPage:\n"
            "    databaseId: d1\n"
            "    properties: { Name: { title: [] } }\n"
            "  as: page\n"
            "- return:\n"
            "    value: ${ vars.page.url }",
            per_second=_PER_SECOND,
        ),
        "updatePage": AddonAction(
            "Update Page",
            "Change properties of a page.",
            (
                need("pageId"),
                need("properties", "map"),
            ),
            _PAGE,
            "- workspaceDocs.updatePage:\n"
            "    pageId: p1\n"
            "    properties: { Done: { checkbox: true } }",
            repeat="safe",
            per_second=_PER_SECOND,
        ),
    },
    config_example="integrationToken: ${ env.WORKSPACE_DOCS_TOKEN }",
    hosts=("api.notion.com",),
    scopes=("read content", "update content", "insert content"),
    service="Notion",
    key_source="https://www.notion.so/profile/integrations",
)
