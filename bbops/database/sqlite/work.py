"""The engine's dialect on SQLite, with one worker process and one writer at a time."""

from __future__ import annotations


def _rows(*columns: str) -> str:
    told = ", ".join(f"value ->> '$.{name}' AS {name}" for name in columns)
    return f"(SELECT {told} FROM json_each(?)) AS j"


class SqliteWork:
    """SQLite: no other writer interferes between two statements of a transaction.

    One process works: any other owner of a running job is dead, whatever the lease says.
    """

    batch_size = 64  # other writers wait for it: docs/decisions/0100
    new_jobs = _rows(
        "ord", "uid", "work", "payload", "lane", "seats", "priority", "run_at", "debounced",
        "cause", "depth", "seq", "at",
    )  # fmt: skip
    new_events = _rows("ord", "name", "key", "payload", "at", "cause", "depth")
    new_ticks = _rows("task", "at", "next_at", "uid", "overlap", "ord", "schedule", "run_at")
    new_keys = _rows("key", "until")
    new_wakes = _rows("event", "value")
    new_ends = _rows("job", "fenced", "outcome", "value")
    ids = texts = "SELECT value FROM json_each(?)"
    in_query = "IN ({})"
    skip_locked = share_lock = jobs_lock = pump_lock = lanes_lock = new_records = ""
    snapshot_age_query = ""  # updates keep no old rows, and readers of a file are not listed
    dead_owners = "owner <> ? AND lease <= ? + lease"
    set_cause = (
        "INSERT INTO _bbops_cause (id, job, depth) VALUES (1, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET job = excluded.job, depth = excluded.depth"
    )
    clear_cause = "DELETE FROM _bbops_cause"
