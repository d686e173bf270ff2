"""The stages of a publication, in order, with one signature.

Each takes the Attempt further or raises Stalled; nothing before `swap` changes what is served, and
nothing but `migrate` changes a database.
"""

from __future__ import annotations

from pathlib import Path

from bbops.errors import BbopsError, MigrationRefused
from bbops_server.reconciler.attempt import Attempt, Stage, Workshop
from bbops_server.reconciler.history import keep_history
from bbops_server.reconciler.status import Stalled

BUILD_SECONDS = 120
MIGRATE_SECONDS = 600


async def build(attempt: Attempt, at: Workshop) -> None:
    """Read, load, check and compile."""
    asked = {"do": "build", "source": attempt.source, "artifacts": str(at.artifacts)}
    attempt.built = await at.plane.build.ask(asked, timeout_seconds=BUILD_SECONDS)
    if not attempt.built["ok"]:
        found = attempt.built["diagnostics"]
        errors = [one for one in found if one["severity"] == "error"]
        first = errors[0]
        where = f"{first['file']}:{first['line']}:{first['column']}"
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise Stalled("ProjectInvalid", f"{where}: {first['message']}{more}", first["hint"], found)


async def fill_env(attempt: Attempt, at: Workshop) -> None:
    """Find a value for every declared variable; make the ones that say `generate`."""
    attempt.env, missing = at.secrets.resolve(attempt.built["env"])
    if missing:
        names = ", ".join(missing)
        cure = f"bbops env set {missing[0]} --state {at.plane.settings.state}"
        cure += f" --project {at.project.name}" if at.project.name else ""
        raise Stalled("EnvMissing", f"no value for {names}", cure)


async def migrate(attempt: Attempt, at: Workshop) -> None:
    """Bring the database to the declared tables, by additions only."""
    asked = {"do": "migrate", "digest": attempt.built["digest"], "database": str(at.database)}
    try:
        answer = await at.plane.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
    except MigrationRefused as refused:
        hint = refused.hint
        if at.mode == "dev":
            hint = f"{hint}; or stop, delete '{at.project.state}' and start afresh"
        raise Stalled("MigrationRefused", refused.message, hint) from None
    attempt.changes = answer["changes"]


async def smoke(attempt: Attempt, at: Workshop) -> None:
    """Link once aside, and prepare every statement against the migrated schema."""
    asked = {"do": "smoke", "artifact": attempt.built["artifact"], "database": str(at.database)}
    try:
        await at.plane.build.ask(asked, timeout_seconds=BUILD_SECONDS)
    except BbopsError as error:
        raise Stalled("SmokeFailed", error.message, error.hint) from None


async def swap(attempt: Attempt, at: Workshop) -> None:
    """Link in every data-plane process, then let all of them serve it."""
    try:
        await at.plane.publish(
            artifact=Path(attempt.built["artifact"]),
            name=attempt.release,
            env=attempt.env,
            database=at.database,
            durability=attempt.built["durability"],
            detailed=at.mode == "dev",
            project=at.project.name,
        )
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None


BEFORE_MIGRATION: tuple[tuple[str, Stage], ...] = (
    ("Comparing", keep_history), ("Building", build), ("Environment", fill_env),
)  # fmt: skip
"""A newer commit cancels an attempt up to here."""

FROM_MIGRATION: tuple[tuple[str, Stage], ...] = (
    ("Migrating", migrate), ("Smoking", smoke), ("Swapping", swap),
)  # fmt: skip
"""From here on an attempt is finished, whatever comes."""
