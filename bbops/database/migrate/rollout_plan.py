"""The effects of a publication on the tables, phase by phase, also as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from bbops.base.errors import MigrationRefused
from bbops.database.diff.changes import Change, When
from bbops.database.diff.live_tables import LiveTables
from bbops.database.migrate import migrate
from bbops.database.migrate.migrate import Migration
from bbops.database.migrate.phases import (
    Name,
    Phases,
    Tables,
    dropped,
    find_phases,
    narrowed,
    renamed,
    renamed_names,
    shares_type,
    trait_of,
    without,
)
from bbops.database.migrate.progress import Progress, read_progress
from bbops.database.schema.row_events import NOBODY, Listening
from bbops.language.resources.table import Table


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """The effects of a publication on the tables, in all its phases."""

    migration: Migration
    phases: Phases
    hidden: frozenset[Name]
    """The currently hidden tables and columns."""

    is_done: bool = False
    """Whether there is nothing to do before the swap, or at it."""

    is_first: bool = False
    """Whether there are no tables yet, so that nothing can break."""

    is_behind: bool = False
    """Whether an earlier publication is not narrowed yet."""

    listening: Listening = NOBODY
    """The listeners to changed rows."""


def plan_rollout(live: LiveTables, wanted: Tables) -> RolloutPlan:
    """Return the phases from the live tables to the wanted ones.

    Raises:
        MigrationRefused: the tables cannot be described, or have another type than hidden ones.
    """
    progress, description = read_progress(live), migrate.describe(wanted)
    recorded_hash = live.recorded()[0]
    done = _done(Migration((), migrate.hash_of(wanted)), progress)
    if progress.is_settled and progress.wanted == description:
        return done
    if not progress.wanted and not progress.hidden and recorded_hash == done.migration.spec_hash:
        return done  # the usual case: only two rows are read
    old = known_tables(live, progress)
    as_after, was_hidden = renamed(old, wanted), renamed_names(progress.hidden, old, wanted)
    hidden = was_hidden & dropped(old, wanted)
    target = narrowed(as_after, wanted, hidden)
    is_same = hidden == was_hidden and recorded_hash == migrate.hash_of(target)
    if is_same and not progress.wanted:
        return done
    _refuse_other_types(as_after, wanted, was_hidden)
    migration = migrate.plan_on(live, target)
    phases = find_phases(old, wanted, live.now())
    spare = renamed_names(progress.spare, old, wanted)
    agreed = progress.agreed if progress.wanted == description else frozenset()
    changes = tuple(_placed(change, phases, wanted, spare, agreed) for change in migration.changes)
    migration = replace(migration, changes=changes)
    is_first, is_behind = not recorded_hash, progress.is_settled
    return RolloutPlan(migration, phases, progress.hidden, is_first=is_first, is_behind=is_behind)


def recorded_tables(live: LiveTables) -> dict[str, Table]:
    """Return the declarations of the live tables, with hidden ones."""
    return migrate.tables_of(live.recorded()[1])


def known_tables(live: LiveTables, progress: Progress) -> dict[str, Table]:
    """Return the live tables without additions for a release that never went live."""
    return without(recorded_tables(live), progress.spare)


def _done(nothing: Migration, progress: Progress) -> RolloutPlan:
    return RolloutPlan(
        nothing, Phases({}, {}), progress.hidden, is_done=True, is_behind=progress.is_settled
    )


def _placed(
    change: Change,
    phases: Phases,
    wanted: Tables,
    spare: frozenset[Name],
    agreed: Collection[tuple[str, str, str]],
) -> Change:
    """Return a change with its phase; a spare or approved change is not a loss."""
    phase: When = "after"
    if (change.table, change.what) in spare:
        return Change(*change.key, phase="before")
    if change.kind in {"drop table", "drop column"}:
        phase = "hidden" if change.risk == "destructive" else "after"
    elif change.kind.startswith(("create", "add")):
        phase = "before" if trait_of(change, phases.expanded) is not None else "at"
    else:
        trait = trait_of(change, wanted)
        places: list[tuple[When, Tables]] = [("before", phases.expanded), ("at", phases.switched)]
        phase = next((when for when, found in places if trait_of(change, found) == trait), "after")
    risk = "safe" if change.key in agreed and change.risk == "destructive" else change.risk
    return replace(change, phase=phase, risk=risk)


def _refuse_other_types(live: Tables, wanted: Tables, hidden: Collection[Name]) -> None:
    for table, column in sorted(hidden):
        old, new = live.get(table), wanted.get(table)
        if old is None or new is None:
            continue
        for key in [column] if column else old.columns.keys() & new.columns.keys():
            was, now = old.columns.get(key), new.columns.get(key)
            if was is not None and now is not None and not shares_type(was, now):
                raise MigrationRefused(
                    f"column '{table}.{key}' is hidden with values of type {was.type},"
                    f" and declared as {now.type}",
                    hint="'bbops db narrow' deletes hidden columns for good",
                )


# ---- Write a migration as JSON values, which `bbops plan` reads

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
