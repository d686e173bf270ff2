"""Record the progress of a publication in the database itself, and the hidden tables.

The record changes in the transactions that change the tables, so a crash leaves both as they were.
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
    """The recorded state of the tables.

    Without a running publication, only `hidden` and `release` are set.
    """

    hidden: frozenset[Name] = field(default=frozenset())
    """Names that no release declares any more, kept for a later release that does."""

    spare: frozenset[Name] = field(default=frozenset())
    """Names that were added for a release that is not live yet, and are still empty."""

    wanted: str = ""
    """The tables of the running publication, in the form of `migrate.describe`."""

    agreed: Agreed = field(default=frozenset())
    """The approved losses of the publication: kind, table and object of each change."""

    approval: str = ""
    """The name of the copy before a loss: the first digits of the approved plan."""

    release: str = ""
    """The digest of the release that the tables were last settled for."""

    is_settled: bool = False
    """Whether the release that wants them is live, so that only narrowing is left."""

    def is_agreed(self, change: Change) -> bool:
        """Return whether the loss of a change is approved."""
        return change.key in self.agreed


def read_progress(live: LiveTables) -> Progress:
    """Return the record; empty for a new database, or one older than this record."""
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
    """Record the progress, in the caller's transaction."""
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
