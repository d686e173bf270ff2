"""backendService: rows in the database of a backend service."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, list_of


class Config(Model):
    """The key passes by all rules, so it stays on the server."""

    project_url: Setting = Field(
        description="The address of the Supabase project, such as `https://abcd.supabase.co`."
    )
    service_role_key: Secret = Field(
        description="A secret key of the Supabase project, `sb_secret_…`, or its service role key."
    )


ADDON = AddonKind(
    "Backend Service",
    "Rows in the database of a backend service.",
    Config,
    {
        "query": AddonAction(
            "Query",
            "Read rows.",
            (
                need("table"),
                may("select", "text", "Columns and relations, * if left out"),
                may("filters", "map", "A value, null, a list, or a map of operators by column"),
                may("limit", "integer"),
                may("order", "text", "column.asc or column.desc"),
            ),
            list_of(ANY),
            "- backendService.query: { table: orders, filters: { status: open }, limit: 10 }\n"
            "  as: orders\n"
            "- return:\n"
            "    value: ${ vars.orders }",
            repeat="safe",
            writes=False,
        ),
        "insert": AddonAction(
            "Insert",
            "Write new rows.",
            (
                need("table"),
                need("data", "map list", "A row, or a list of them"),
                may("upsert", "boolean", "Change rows that are there already"),
                may("onConflict", "text", "Columns by which `upsert` knows them, if not the key"),
            ),
            list_of(ANY),
            "- backendService.insert:\n    table: orders\n    data: { status: open }",
        ),
        "update": AddonAction(
            "Update",
            "Change rows.",
            (
                need("table"),
                need("data", "map"),
                need("filters", "map", "A value, null, a list, or a map of operators by column"),
            ),
            list_of(ANY),
            "- backendService.update:\n"
            "    table: orders\n"
            "    data: { status: done }\n"
            "    filters: { id: 1 }",
            repeat="safe",
        ),
        "delete": AddonAction(
            "Delete",
            "Delete rows.",
            (
                need("table"),
                need("filters", "map", "A value, null, a list, or a map of operators by column"),
            ),
            list_of(ANY),
            "- backendService.delete:\n    table: orders\n    filters: { id: 1 }",
            repeat="safe",
        ),
    },
    config_example="projectUrl: https://acme.example.com\n"
    "serviceRoleKey: ${ env.BACKEND_SERVICE_KEY }",
    address="projectUrl",
    service="Supabase",
    key_source="https://supabase.com/dashboard/project/_/settings/api-keys",
)
