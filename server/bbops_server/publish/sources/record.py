"""The record of the live release, which a restart serves before any new attempt."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops.source.git.revisions import commit_of, read_revision
from bbops_server.data_plane.live.recent_frontends import note_live
from bbops_server.process.messages.builds import BuiltRelease
from bbops_server.process.messages.tables import FindRelease
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.values import BuiltRevision, FetchedRevision
from bbops_server.publish.status.status import Stalled, now

ARTIFACTS_KEPT = 20

RELEASE_SECONDS = 60
"""The time that the build process has to find the release of the tables."""


class LiveRecord(msgspec.Struct, frozen=True):
    """The live release in the state folder.

    Fields that an older server did not write have a default. `source` is the source of the release,
    and `tagged` the revision of a separately tagged frontend; None if unknown.
    """

    revision: str
    digest: str
    artifact: str
    env: dict[str, Any]
    durability: Literal["normal", "full"] = "normal"
    release: str = ""
    signs: str = ""
    project: str = ""
    source: str | None = None
    review: dict[str, Any] = {}
    holds_reviews: bool = False
    reaches: dict[str, Any] = {}
    version: str = ""
    frontend: str = ""
    tagged: str | None = None

    def as_built(self) -> BuiltRevision:
        """Return it as a built release; the source of its commit is unknown."""
        facts = BuiltRelease(
            ok=True, diagnostics=[], digest=self.digest, revision=self.revision, subject="",
            author="", compiled=0, frontend=self.frontend, tagged=self.tagged or "",
            milliseconds=0, artifact=self.artifact, env=self.env, project=self.project,
            durability=self.durability, signs=self.signs, review=self.review,
            reaches=self.reaches,
        )  # fmt: skip
        return FetchedRevision(self.revision, {}).with_facts(facts)


async def record(built: BuiltRevision, version: str, at: PublishContext) -> None:
    """Record the live release with its version tag; empty without one.

    Raises:
        Stalled: the state folder cannot be written, so a restart would serve the previous release.
    """
    try:
        replace_file(at.record, msgspec.json.encode(_describe(built, at, version)))
        at.intention.unlink(missing_ok=True)
        note_live(at.project.state, built.facts.frontend, now())
        prune(at.artifacts, built.facts.digest)
    except OSError as error:
        raise Stalled(
            "StateNotWritable",
            f"{built.release} is live, but cannot be recorded:"
            f" '{at.record}': {(error.strerror or 'no reason given').lower()}",
            "free the disk or make it writable; a restart would serve the previous release",
            is_passing=True,
        ) from None


def record_intention(built: BuiltRevision, at: PublishContext) -> None:
    """Record a release that goes live together with a change of the tables.

    Raises:
        ServerError: the state folder cannot be written.
    """
    try:
        replace_file(at.intention, msgspec.json.encode(_describe(built, at)))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.intention}': {reason}") from None


async def read_live(at: PublishContext) -> LiveRecord | None:
    """Return the record of the live release, or of the release of the migrated tables.

    None if nothing is live, or no record can be read.
    """
    intended = await asyncio.to_thread(_read, at.intention)
    if intended is not None:
        request = FindRelease(**at.request_fields)
        answer = await at.plane.build.ask(request, timeout_seconds=RELEASE_SECONDS)
        if answer.digest == intended.digest:
            return intended
    return await asyncio.to_thread(read_record, at)


def _describe(built: BuiltRevision, at: PublishContext, version: str = "") -> LiveRecord:
    facts = built.facts
    return LiveRecord(
        revision=built.revision, release=built.release, digest=facts.digest,
        artifact=facts.artifact, env=facts.env, durability=facts.durability, signs=facts.signs,
        project=facts.project, source=at.source.shown, review=facts.review, holds_reviews=True,
        reaches=facts.reaches, version=version, frontend=facts.frontend, tagged=facts.tagged,
    )  # fmt: skip


def read_record(at: PublishContext) -> LiveRecord | None:
    """Return the record of the live release; None without a readable one."""
    return _read(at.record)


def _read(path: Path) -> LiveRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=LiveRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def read_live_commit(at: PublishContext) -> str:
    """Return the live commit of a project, also for its drafts; empty without one."""
    state = (at.draft_of or at.project).state
    live = _read(state / at.record.name)
    return commit_of(live.revision) if live is not None else ""


def applied_commit(at: PublishContext) -> str | None:
    """Return the live commit, if its branch and repository are still served; else None."""
    live = read_record(at)
    if live is None:
        return None
    branch, commit = read_revision(live.revision)
    is_same = live.source in {None, at.source.shown}
    return commit if is_same and branch == at.project.branch else None


def prune(artifacts: Path, live: str) -> None:
    """Delete all but the newest artifacts; the live artifact stays, whatever its time."""
    files = [file for file in artifacts.iterdir() if file.name != live]
    files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[ARTIFACTS_KEPT - 1 :]:
        old.unlink(missing_ok=True)
