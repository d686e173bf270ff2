"""The stages of a publication, in order, with one signature.

Each takes the Attempt further or raises Stalled; nothing before `swap` changes what is served, and
nothing but `migrate` changes a database.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bbops.errors import BbopsError, MigrationRefused
from bbops_server.host.secrets import Secrets
from bbops_server.live.plane import Plane
from bbops_server.reconciler.status import Stalled
from bbops_server.settings import Settings

BUILD_SECONDS = 120
MIGRATE_SECONDS = 600
ARTIFACTS_KEPT = 20


@dataclass(slots=True)
class Attempt:
    """One revision on its way to being served."""

    revision: str
    source: Mapping[str, Any]
    built: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str | None] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    @property
    def release(self) -> str:
        """What answers carry: 12 hex digits of the commit, of the content in a working tree."""
        commit = self.revision.rpartition(":")[2]
        return commit[:12] if ":" in self.revision else f"dev-{self.built['digest'][:8]}"


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the stages work with."""

    settings: Settings
    plane: Plane
    secrets: Secrets

    @property
    def artifacts(self) -> Path:
        """Where artifacts lie, by content."""
        return self.settings.state / "artifacts"

    @property
    def database(self) -> Path:
        """The project's data."""
        return self.settings.state / "data.sqlite"

    @property
    def history(self) -> Path:
        """The requests that were answered; the data processes write it beside the data."""
        return self.database.with_name("history.sqlite")

    @property
    def record(self) -> Path:
        """What went live last."""
        return self.settings.state / "publication.json"


Stage = Callable[[Attempt, Workshop], Awaitable[None]]


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
        raise Stalled(
            "EnvMissing", f"no value for {names}",
            f"bbops env set {missing[0]} --state {at.settings.state}",
        )  # fmt: skip


async def migrate(attempt: Attempt, at: Workshop) -> None:
    """Bring the database to the declared tables, by additions only."""
    asked = {"do": "migrate", "digest": attempt.built["digest"], "database": str(at.database)}
    try:
        answer = await at.plane.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
    except MigrationRefused as refused:
        hint = refused.hint
        if at.settings.mode == "dev":
            hint = f"{hint}; or stop, delete '{at.settings.state}' and start afresh"
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
            detailed=at.settings.mode == "dev",
        )
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None


async def record(attempt: Attempt, at: Workshop) -> None:
    """Remember what is live, so that a restart serves it before anything else is tried."""
    built = attempt.built
    data = {
        "revision": attempt.revision, "release": attempt.release, "digest": built["digest"],
        "artifact": built["artifact"], "env": built["env"], "durability": built["durability"],
        "project": built["project"],
    }  # fmt: skip
    aside = at.record.with_suffix(".new")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(data))
    aside.replace(at.record)
    prune(at.artifacts)


def prune(artifacts: Path) -> None:
    """Delete all but the newest artifacts; what is live is among them."""
    files = sorted(artifacts.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[ARTIFACTS_KEPT:]:
        old.unlink(missing_ok=True)


BEFORE_MIGRATION: tuple[tuple[str, Stage], ...] = (("Building", build), ("Environment", fill_env))
"""A newer commit cancels an attempt up to here."""

FROM_MIGRATION: tuple[tuple[str, Stage], ...] = (
    ("Migrating", migrate), ("Smoking", smoke), ("Swapping", swap), ("Recording", record),
)  # fmt: skip
"""From here on an attempt is finished, whatever comes."""
