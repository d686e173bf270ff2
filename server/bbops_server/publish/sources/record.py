"""Remember what is live, so that a restart serves it before anything else is tried."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops.source.git.revisions import commit_of, read_revision
from bbops_server.data_plane.live.recent_frontends import note_live
from bbops_server.process.messages.build.tables.find_release import FindRelease
from bbops_server.publish.sources.attempt import Attempt, PublishContext
from bbops_server.publish.status.status import Stalled, now

ARTIFACTS_KEPT = 20

RELEASE_SECONDS = 60
"""How long the build process may take to say which release the tables are for."""


async def record(attempt: Attempt, at: PublishContext) -> None:
    """Write what is live now.

    Raises:
        Stalled: the state folder cannot be written; a restart would serve what was live before.
    """
    try:
        replace_file(at.record, msgspec.json.encode(_describe(attempt, at)))
        at.intention.unlink(missing_ok=True)
        note_live(at.project.state, attempt.built.get("frontend", ""), now())
        prune(at.artifacts, attempt.built["digest"])
    except OSError as error:
        raise Stalled(
            "StateNotWritable",
            f"{attempt.release} is live, but cannot be recorded:"
            f" '{at.record}': {(error.strerror or 'no reason given').lower()}",
            "free the disk or make it writable; a restart would serve the previous release",
            is_passing=True,
        ) from None


def intend(attempt: Attempt, at: PublishContext) -> None:
    """Write what is about to go live together with a change of the tables.

    Raises:
        ServerError: the state folder cannot be written.
    """
    try:
        replace_file(at.intention, msgspec.json.encode(_describe(attempt, at)))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.intention}': {reason}") from None


async def read_live(at: PublishContext) -> dict[str, Any] | None:
    """Return what was live last, or what the tables have been changed for since.

    None when nothing was or nobody knows.
    """
    intended = await asyncio.to_thread(_read, at.intention)
    if intended is not None:
        asked = FindRelease(**at.asked_of)
        found = await at.plane.build.ask(asked, timeout_seconds=RELEASE_SECONDS)
        if found.digest == intended["digest"]:
            return intended
    return await asyncio.to_thread(read_record, at)


def _describe(attempt: Attempt, at: PublishContext) -> dict[str, Any]:
    built = attempt.built
    return {
        "revision": attempt.revision, "release": attempt.release, "digest": built["digest"],
        "artifact": built["artifact"], "env": built["env"], "durability": built["durability"],
        "signs": built["signs"], "project": built["project"], "source": at.source.shown,
        "review": built.get("review", {}), "holds_reviews": True,
        "reaches": built.get("reaches", {}), "version": attempt.version,
        "frontend": built.get("frontend", ""), "tagged": built.get("tagged", ""),
    }  # fmt: skip


def read_record(at: PublishContext) -> dict[str, Any] | None:
    """Return what was live last, None when nothing was or nobody knows."""
    return _read(at.record)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return None


def read_live_commit(at: PublishContext) -> str:
    """Return the commit that is live of a project, also for its drafts; empty without one."""
    state = (at.draft_of or at.project).state
    found = _read(state / at.record.name) or {}
    return commit_of(found.get("revision"))


def applied_commit(at: PublishContext) -> str | None:
    """Return the commit that was live last, if it is of the branch and repository now served."""
    found = read_record(at) or {}
    branch, commit = read_revision(found.get("revision"))
    is_same = found.get("source", at.source.shown) == at.source.shown
    return commit if is_same and branch == at.project.branch else None


def prune(artifacts: Path, live: str) -> None:
    """Delete all but the newest artifacts; what is live stays, whatever a clock has said."""
    files = [file for file in artifacts.iterdir() if file.name != live]
    files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[ARTIFACTS_KEPT - 1 :]:
        old.unlink(missing_ok=True)
