"""Remember that a revision's change of names and types does not fit its time.

Another start of the server would look at all rows again, or let requests wait again, in vain. So
the same revision is tried again once somebody asks for it, or has approved something since.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from bbops.base.disk import replace_file
from bbops_server.publish.holds.approvals import stamp_approvals
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.values import Built
from bbops_server.publish.status.status import Stalled

_FILE = "switch-failed.json"


class FailedSwitch(msgspec.Struct, frozen=True):
    """What was tried, what had been approved by then, and how it ended."""

    revision: str
    digest: str
    approvals: tuple[int, int, int] | None
    reason: str
    message: str
    hint: str


def keep_failed_switch(stalled: Stalled, built: Built, at: PublishContext) -> Stalled:
    """Remember why a switch was not made, and return it with what tries it again.

    A disk that takes nothing costs the memory alone.
    """
    cure = f"'bbops reconcile{f' {at.project.name}' if at.project.name else ''}' retries it"
    hint = f"{stalled.hint}; {cure}" if stalled.hint else cure
    failed = FailedSwitch(
        built.revision, built.facts.digest, stamp_approvals(at.project.state),
        stalled.reason, stalled.message, hint,
    )  # fmt: skip
    with suppress(OSError):
        replace_file(at.project.state / _FILE, msgspec.json.encode(failed))
    return Stalled(stalled.reason, stalled.message, hint)


def refuse_failed_switch(built: Built, at: PublishContext) -> None:
    """Do not try a switch again that nobody has asked for since it failed.

    Raises:
        Stalled: as it ended then.
    """
    failed = _read(at)
    if failed is None or at.plane.find_live(at.project.name) == built.facts.digest:
        return
    tried = failed.revision, failed.digest, failed.approvals
    if tried == (built.revision, built.facts.digest, stamp_approvals(at.project.state)):
        raise Stalled(failed.reason, failed.message, failed.hint)


def forget_failed_switch(at: PublishContext) -> None:
    """Let the next attempt try it again."""
    with suppress(OSError):
        (at.project.state / _FILE).unlink(missing_ok=True)


def _read(at: PublishContext) -> FailedSwitch | None:
    try:
        return msgspec.json.decode((at.project.state / _FILE).read_bytes(), type=FailedSwitch)
    except (OSError, msgspec.MsgspecError):
        return None
