"""Remember what is live, so that a restart serves it before anything else is tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bbops_server.host.files import replace_file
from bbops_server.reconciler.attempt import Attempt, Workshop
from bbops_server.reconciler.status import Stalled

ARTIFACTS_KEPT = 20


async def record(attempt: Attempt, at: Workshop) -> None:
    """Write what is live now.

    Raises:
        Stalled: the state folder cannot be written; a restart would serve what was live before.
    """
    built = attempt.built
    data = {
        "revision": attempt.revision, "release": attempt.release, "digest": built["digest"],
        "artifact": built["artifact"], "env": built["env"], "durability": built["durability"],
        "project": built["project"], "source": at.source.shown,
    }  # fmt: skip
    try:
        replace_file(at.record, msgspec.json.encode(data))
        prune(at.artifacts, built["digest"])
    except OSError as error:
        raise Stalled(
            "StateNotWritable",
            f"{attempt.release} is live, but cannot be remembered:"
            f" '{at.record}': {(error.strerror or 'no reason given').lower()}",
            "free the disk or make it writable; a restart would serve the release before",
            is_passing=True,
        ) from None


def read_record(at: Workshop) -> dict[str, Any] | None:
    """Return what was live last, None when nothing was or nobody knows."""
    try:
        return msgspec.json.decode(at.record.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return None


def applied_commit(at: Workshop) -> str | None:
    """Return the commit that was live last, if it is of the branch and repository now served."""
    found = read_record(at) or {}
    branch, _, commit = str(found.get("revision", "")).rpartition("@sha1:")
    is_same = found.get("source", at.source.shown) == at.source.shown
    return commit if is_same and branch == at.project.branch else None


def prune(artifacts: Path, live: str) -> None:
    """Delete all but the newest artifacts; what is live stays, whatever a clock has said."""
    files = [file for file in artifacts.iterdir() if file.name != live]
    files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[ARTIFACTS_KEPT - 1 :]:
        old.unlink(missing_ok=True)
