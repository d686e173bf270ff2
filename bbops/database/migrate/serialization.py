"""Write a migration as JSON values, which `bbops plan` reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from bbops.database.diff.changes import Change
from bbops.database.migrate.migrate import Migration

NO_TABLES: Final[Mapping[str, str]] = MappingProxyType({})
_WHEN = {
    "": "before the swap", "before": "before the swap", "at": "at the swap",
    "after": "after the swap", "hidden": "hidden after the swap",
}  # fmt: skip


def as_json(migration: Migration, triggers: Mapping[str, str] = NO_TABLES) -> dict[str, Any]:
    """Return a migration in the form of `bbops db plan --json`.

    Args:
        migration: the planned migration.
        triggers: tables on which no SQL trigger can be created, with the statement that allows it.
    """
    refused = {"triggers": dict(triggers)} if triggers else {}
    return refused | {
        "hash": migration.hash if migration.changes else None,
        "waits": migration.is_waiting,
        "changes": [_change_as_json(change) for change in migration.changes],
    }


def _change_as_json(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind, "table": change.table, "what": change.what, "risk": change.risk,
        "why": change.why, "rows": change.rows.count, "keys": change.rows.keys,
        "when": _WHEN[change.phase], "cure": change.cure,
    }  # fmt: skip
