"""backendService, held against postgrest-py, which is in Supabase's library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

KEY = f"eyJ{CANARY}"
ROWS = [{"id": 1}]


def asking(request: Callable[[Any], Any]) -> Callable[[str], object]:
    """Return what makes a request of a table at an address."""

    def ask(url: str) -> object:
        from postgrest import SyncPostgrestClient  # noqa: PLC0415 - of the extra 'vendors'

        headers = {"apikey": KEY, "authorization": f"Bearer {KEY}"}
        with SyncPostgrestClient(f"{url}/rest/v1", headers=headers) as client:
            return request(client.table("t")).execute()

    return ask


def read(table: Any) -> Any:
    asked = table.select("*, author(name)").eq("id", 1).gte("n", 5)
    asked = asked.in_("s", ["a,b", 'c"d', "e"]).is_("x", "null").is_("y", "true")
    return asked.order("created_at", desc=True).limit(5)


VENDOR = Vendor(
    "backendService",
    "projectUrl: URL\nserviceRoleKey: ${ env.BACKEND_KEY }",
    {"BACKEND_KEY": KEY},
    (
        Scenario(
            "backendService.query: { table: t, select: '*, author(name)', order: created_at.desc,"
            " limit: 5,"
            " filters: { id: 1, n: { gte: 5 }, s: ['a,b', 'c\"d', e], x: null, y: true } }",
            asking(read), Answer(body=ROWS), ROWS,
        ),
        Scenario(
            "backendService.insert: { table: t, data: { a: ü } }",
            asking(lambda table: table.insert({"a": "ü"})), Answer(201, ROWS), ROWS,
        ),
        Scenario(
            "backendService.insert: { table: t, data: [{ a: 1 }, { a: 2 }] }",
            asking(lambda table: table.insert([{"a": 1}, {"a": 2}], default_to_null=False)),
            Answer(201, ROWS), ROWS,
        ),
        Scenario(
            "backendService.insert: { table: t, data: { a: 1 }, upsert: true, onConflict: a }",
            asking(lambda table: table.upsert({"a": 1}, on_conflict="a")),
            Answer(201, ROWS), ROWS,
        ),
        Scenario(
            "backendService.update: { table: t, data: { a: 2 }, filters: { id: 1 } }",
            asking(lambda table: table.update({"a": 2}).eq("id", 1)), Answer(body=ROWS), ROWS,
        ),
        Scenario(
            "backendService.delete: { table: t, filters: { id: 1 } }",
            asking(lambda table: table.delete().eq("id", 1)), Answer(body=ROWS), ROWS,
            {"body": "the library sends an empty map", "type": "follows the body"},
        ),
    ),
    headers=("authorization", "apikey", "prefer"),
    refusal={"code": "PGRST204", "message": "Could not find the column", "hint": None},
    words="Could not find the column",
    reason="PGRST204",
)  # fmt: skip
