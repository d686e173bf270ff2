"""Record a migration of names and types that did not finish in time.

After a restart, another attempt would read all rows again, or make requests wait again, without
success. So the same revision is retried after `bbops reconcile` or a new approval only.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from bbops.base.disk import replace_file
from bbops_server.publish.holds.approvals import stamp_approvals
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.values import BuiltRevision
from bbops_server.publish.status.status import Stalled

_FILE = "switch-failed.json"


class FailedMigration(msgspec.Struct, frozen=True):
    """A failed migration, with the approvals at that time and the reason."""

    revision: str
    digest: str
    approvals: tuple[int, int, int] | None
    reason: str
    message: str
    hint: str


def record_failed_migration(stalled: Stalled, built: BuiltRevision, at: PublishContext) -> Stalled:
    """Record why a migration failed, and return the reason with the command that retries it.

    A failure to write is ignored.
    """
    fix = f"'bbops reconcile{f' {at.project.name}' if at.project.name else ''}' retries it"
    hint = f"{stalled.hint}; {fix}" if stalled.hint else fix
    failed = FailedMigration(
        built.revision, built.facts.digest, stamp_approvals(at.project.state),
        stalled.reason, stalled.message, hint,
    )  # fmt: skip
    with suppress(OSError):
        replace_file(at.project.state / _FILE, msgspec.json.encode(failed))
    return Stalled(stalled.reason, stalled.message, hint)


def reject_failed_migration(built: BuiltRevision, at: PublishContext) -> None:
    """Reject a migration that has failed, unless a retry was requested since.

    Raises:
        Stalled: the recorded reason.
    """
    failed = _read(at)
    if failed is None or at.plane.find_live(at.project.name) == built.facts.digest:
        return
    recorded = failed.revision, failed.digest, failed.approvals
    if recorded == (built.revision, built.facts.digest, stamp_approvals(at.project.state)):
        raise Stalled(failed.reason, failed.message, failed.hint)


def clear_failed_migration(at: PublishContext) -> None:
    """Allow the next attempt to retry the migration."""
    with suppress(OSError):
        (at.project.state / _FILE).unlink(missing_ok=True)


def _read(at: PublishContext) -> FailedMigration | None:
    try:
        return msgspec.json.decode((at.project.state / _FILE).read_bytes(), type=FailedMigration)
    except (OSError, msgspec.MsgspecError):
        return None
