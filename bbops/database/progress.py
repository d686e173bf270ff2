"""Remember in the database itself how far a publication has come, and which tables are hidden.

It changes in the transactions that change the tables, so a crash finds both as they were.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.database.phases import Name

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS _bbops_progress (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " state TEXT NOT NULL) STRICT"
)
_IS_THERE: Final = "SELECT 1 FROM sqlite_master WHERE name = '_bbops_progress'"
_WRITE: Final = (
    "INSERT INTO _bbops_progress (id, state) VALUES (1, ?)"
    " ON CONFLICT (id) DO UPDATE SET state = excluded.state"
)

Agreed = frozenset[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Progress:
    """What is true of the tables beside what they are.

    While nothing is under way, only `hidden` and `release` say something.
    """

    hidden: frozenset[Name] = field(default=frozenset())
    """What no release declares any more, and is kept for one that does so again."""

    spare: frozenset[Name] = field(default=frozenset())
    """What was added for a release that is not live yet: nobody has written to it."""

    wanted: str = ""
    """The declared tables that are on their way, as `bbops.database.migrate.describe` says them."""

    agreed: Agreed = field(default=frozenset())
    """The losses on that way that somebody has approved: kind, table and what of each change."""

    approval: str = ""
    """The hash that they were approved by."""

    release: str = ""
    """The digest of the release that the names and types were last changed for."""

    is_settled: bool = False
    """Whether the live release is the one that wants them, so that only narrowing is left."""


def read_progress(live: sqlite3.Connection) -> Progress:
    """Return what is on record; nothing is in a file that is new, or older than this record."""
    if not live.execute(_IS_THERE).fetchone():
        return Progress()
    row = live.execute("SELECT state FROM _bbops_progress").fetchone()
    state: dict[str, Any] = json.loads(row[0]) if row else {}
    return Progress(
        frozenset((table, column) for table, column in state.get("hidden", ())),
        frozenset((table, column) for table, column in state.get("spare", ())),
        state.get("wanted", ""),
        frozenset((kind, table, what) for kind, table, what in state.get("agreed", ())),
        state.get("approval", ""),
        state.get("release", ""),
        state.get("settled", False),
    )


def write_progress(live: sqlite3.Connection, progress: Progress) -> None:
    """Put it on record, in the caller's transaction."""
    live.execute(_TABLE)
    state = {
        "hidden": sorted(progress.hidden),
        "spare": sorted(progress.spare),
        "wanted": progress.wanted,
        "agreed": sorted(progress.agreed),
        "approval": progress.approval,
        "release": progress.release,
        "settled": progress.is_settled,
    }
    live.execute(_WRITE, (json.dumps(state, separators=(",", ":")),))
