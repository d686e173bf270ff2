"""Say what a migration changes as values of JSON, which `bbops plan` reads."""

from __future__ import annotations

from typing import Any

from bbops.database.diff.changes import Change
from bbops.database.migrate.migrate import Migration

_WHEN = {
    "": "before the swap", "before": "before the swap", "at": "at the swap",
    "after": "after the swap", "hidden": "hidden after the swap",
}  # fmt: skip


def as_json(migration: Migration) -> dict[str, Any]:
    """Return what `bbops db plan --json` prints."""
    return {
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
