"""Find out in advance whether a change of names and types would block requests for too long.

A switch looks at the rows and then rewrites them, which takes up to three times as long. So the
look is made ahead, beside readers and writers, and ends if it takes too long already.
"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Final

from bbops.base.errors import DatabaseError, MigrationRefused, SwitchTooLong
from bbops.base.render import plural
from bbops.database.diff.live_tables import LiveTables
from bbops.database.migrate import migrate
from bbops.database.migrate.opened import read_tables
from bbops.database.migrate.phases import Tables, find_phases
from bbops.database.migrate.progress import read_progress
from bbops.database.migrate.rollout_plan import known_tables
from bbops.database.schema.place import Place

LONGEST_SWITCH_SECONDS: Final = 2.0
"""The longest wait of requests by the estimate, which is a rough one."""

SMALL_TABLE_ROWS: Final = 10_000
"""A table of this size is never too large: only a busy machine is slow with it."""

_LOOK_SHARE: Final = 1 / 3
"""The share of the look at the rows in a switch: measured, between 0.25 and 0.8."""


def refuse_long_switch(
    place: Place, wanted: Tables, *, seconds: float = LONGEST_SWITCH_SECONDS
) -> None:
    """Look at the rows as the switch to the wanted tables would; nothing is changed.

    Args:
        place: the database; others read and write.
        wanted: the declared tables.
        seconds: the longest time for the switch. The look ends soon after its share of that.

    Raises:
        SwitchTooLong: the switch would take longer.
        DatabaseError: the database cannot be read.
    """
    until = monotonic() + _LOOK_SHARE * seconds
    try:
        with read_tables(place) as live:
            known, switched = _find_tables(live, wanted)
            if known == switched:
                return
            until = monotonic() + _LOOK_SHARE * seconds
            live.limit(until)
            with suppress(MigrationRefused):  # the plan reports it, with all obstacles
                migrate.plan_on(live, switched)
    except DatabaseError:
        if monotonic() < until:
            raise
    if monotonic() < until:
        return
    with read_tables(place) as live:
        large = _find_large(live, *_find_tables(live, wanted))
    if large:
        raise SwitchTooLong(
            f"{large}: requests would have to wait for longer than {seconds:g} s while names and"
            " types change",
            hint="add a column beside the old one, fill it, and drop the old one later",
        )


def _find_tables(live: LiveTables, wanted: Tables) -> tuple[Tables, Tables]:
    """Return the live tables and the tables after the switch; equal without a switch."""
    known = known_tables(live, read_progress(live))
    phases = find_phases(known, wanted, live.now())
    return (known, phases.switched) if phases.switches and known else (known, known)


def _find_large(live: LiveTables, known: Tables, switched: Tables) -> str:
    """Return the large live tables that change, with their numbers of rows."""
    changed = [name for name, table in known.items() if switched.get(name) != table]
    counts = {name: _count(live, name) for name in sorted(changed)}
    return ", ".join(
        f"table '{name}' has {plural(count, 'row')}"
        for name, count in counts.items()
        if count > SMALL_TABLE_ROWS
    )


def _count(live: LiveTables, table: str) -> int:
    return int(str(live.ask(f"SELECT count(*) FROM {live.name(table)}")[0][0]))
