"""The stages of a publication, in order, with one signature.

Each takes the Attempt further or raises Stalled; nothing before `swap` changes what is served, and
nothing but `migrate` changes a database.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from bbops.errors import BbopsError, MigrationRefused
from bbops_server.approvals import read_waiting
from bbops_server.reconciler.attempt import Attempt, Stage, Workshop
from bbops_server.reconciler.history import keep_history
from bbops_server.reconciler.status import Stalled

BUILD_SECONDS = 120
TEST_SECONDS = 150
"""More than the build process gives the tests, so that it says what is late."""
MIGRATE_SECONDS = 600


async def build(attempt: Attempt, at: Workshop) -> None:
    """Read, load, check and compile."""
    asked = {"do": "build", "source": attempt.source, "artifacts": str(at.artifacts)}
    attempt.built = await at.plane.build.ask(asked, timeout_seconds=BUILD_SECONDS)
    if not attempt.built["ok"]:
        raise _refused("ProjectInvalid", attempt.built["diagnostics"])


def _refused(reason: str, found: list[dict[str, Any]]) -> Stalled:
    errors = [one for one in found if one["severity"] == "error"]
    first = errors[0]
    where = f"{first['file']}:{first['line']}:{first['column']}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Stalled(reason, f"{where}: {first['message']}{more}", first["hint"], found)


async def test(attempt: Attempt, at: Workshop) -> None:
    """Run the project's tests where `tests.gate` asks for it; `bbops dev` serves what is saved."""
    if not attempt.built["gate"] or at.mode == "dev":
        return
    asked = {"state": str(at.project.state), "digest": attempt.built["digest"]}
    try:
        answer = await at.plane.build.ask({"do": "test", **asked}, timeout_seconds=TEST_SECONDS)
    except asyncio.CancelledError:
        with suppress(BbopsError):
            await at.plane.build.ask({"do": "end test", **asked}, timeout_seconds=1)
        raise
    if answer["diagnostics"]:
        raise _refused("TestsFailed", answer["diagnostics"])


async def fill_env(attempt: Attempt, at: Workshop) -> None:
    """Find a value for every declared variable; make the ones that say `generate`."""
    attempt.env, missing = at.secrets.resolve(attempt.built["env"])
    if missing:
        names = ", ".join(missing)
        cure = f"bbops env set {missing[0]} --state {at.plane.settings.state}"
        cure += f" --project {at.project.name}" if at.project.name else ""
        raise Stalled("EnvMissing", f"no value for {names}", cure)


async def migrate(attempt: Attempt, at: Workshop) -> None:
    """Bring the database to the declared tables, by changes that lose nothing or are approved."""
    asked = {"do": "migrate", "digest": attempt.built["digest"], "database": str(at.database)}
    try:
        answer = await at.plane.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
    except MigrationRefused as refused:
        hint = _say_where(refused.hint, at)
        if at.mode == "dev":
            hint = f"{hint}; or stop, delete '{at.project.state}' and start afresh"
        raise Stalled("MigrationRefused", refused.message, hint) from None
    attempt.changes = answer["changes"]


def _say_where(hint: str, at: Workshop) -> str:
    """Complete the command that approves: it may be run in any folder."""
    waiting = read_waiting(at.project.state)
    if waiting is None:
        return hint
    command = f"bbops db approve {waiting.hash}"
    where = f" --state {at.plane.settings.state}"
    where += f" --project {at.project.name}" if at.project.name else ""
    return hint.replace(command, command + where)


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


BUILDING: tuple[tuple[str, Stage], ...] = (("Comparing", keep_history), ("Building", build))
TESTING: tuple[tuple[str, Stage], ...] = (("Testing", test), ("Environment", fill_env))
"""A newer commit ends these at once, and cancels an attempt up to here."""

FROM_MIGRATION: tuple[tuple[str, Stage], ...] = (
    ("Migrating", migrate), ("Smoking", smoke), ("Swapping", swap),
)  # fmt: skip
"""From here on an attempt is finished, whatever comes."""
