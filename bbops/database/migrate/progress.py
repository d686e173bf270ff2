"""Remember in the database itself how far a publication has come, and which tables are hidden.

It changes in the transactions that change the tables, so a crash finds both as they were.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.database.diff.changes import Change
from bbops.database.diff.live_tables import LiveTables
from bbops.database.migrate.phases import Name

_NAME: Final = "progress"

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
    """The declared tables that are on their way, as `migrate.describe` says them."""

    agreed: Agreed = field(default=frozenset())
    """The losses on that way that somebody has approved: kind, table and what of each change."""

    approval: str = ""
    """What the copy is called that is kept before one of them: the hash of the approved plan."""

    release: str = ""
    """The digest of the release that the tables were last settled for."""

    is_settled: bool = False
    """Whether the live release is the one that wants them, so that only narrowing is left."""

    def is_agreed(self, change: Change) -> bool:
        """Return whether somebody has approved what a change loses."""
        return change.key in self.agreed


def read_progress(live: LiveTables) -> Progress:
    """Return what is on record; nothing is in a database that is new, or older than this record."""
    state: dict[str, Any] = json.loads(live.read_note(_NAME) or "{}")
    return Progress(
        frozenset((table, column) for table, column in state.get("hidden", ())),
        frozenset((table, column) for table, column in state.get("spare", ())),
        state.get("wanted", ""),
        frozenset((kind, table, what) for kind, table, what in state.get("agreed", ())),
        state.get("approval", ""),
        state.get("release", ""),
        state.get("settled", False),
    )


def write_progress(live: LiveTables, progress: Progress) -> None:
    """Put it on record, in the caller's transaction."""
    state = {
        "hidden": sorted(progress.hidden),
        "spare": sorted(progress.spare),
        "wanted": progress.wanted,
        "agreed": sorted(progress.agreed),
        "approval": progress.approval,
        "release": progress.release,
        "settled": progress.is_settled,
    }
    live.write_note(_NAME, json.dumps(state, separators=(",", ":")))
