"""Hold new commits while publications are frozen, except an exempt one."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.values import BuiltRevision
from bbops_server.publish.status.status import Stalled, now
from bbops_server.settings.freezes import Frozen, find_frozen

_FILE = "exempted.json"


class Exemption(msgspec.Struct, frozen=True):
    """A revision that may be published during a freeze."""

    revision: str
    who: str
    at: datetime


def find_freeze(at: PublishContext) -> Frozen | None:
    """Return the freeze in force, None without one. Drafts are never frozen."""
    return None if at.is_draft else find_frozen(at.plane.settings.freezes, now())


def hold_frozen(revision: str, applied: str | None, at: PublishContext) -> None:
    """Hold a new revision until a freeze ends.

    Raises:
        Stalled: the revision is neither live nor exempt.
    """
    frozen = find_freeze(at)
    if frozen is None or revision in {applied, _read_exempted(at)}:
        return
    why = f": {frozen.reason}" if frozen.reason else ""
    name = f" {at.project.name}" if at.project.name else ""
    raise Stalled(
        "Frozen", f"publications are frozen until {frozen.until:%Y-%m-%d %H:%M} UTC{why}",
        f"it goes live then; 'bbops resume{name} --despite-freeze' accepts it now",
    )  # fmt: skip


async def hold_frozen_frontend(built: BuiltRevision, at: PublishContext) -> BuiltRevision:
    """Hold a frontend that was tagged for the live commit until a freeze ends.

    Raises:
        Stalled: it is neither live nor exempt.
    """
    live, tagged = read_record(at), built.facts.tagged
    if live is None or live.revision != built.revision:
        return built
    if live.tagged is not None and live.tagged != tagged:
        hold_frozen(built.revision, None, at)
    return built


def exempt(revision: str | None, who: str, at: PublishContext) -> None:
    """Exempt a revision from the freeze.

    Raises:
        ServerError: nothing is frozen, no revision waits, or the state folder is not writable.
    """
    if find_freeze(at) is None or revision is None:
        raise ServerError("nothing is frozen", hint="'bbops status' says what is live")
    try:
        data = msgspec.json.encode(Exemption(revision, who, now()))
        replace_file(at.project.state / _FILE, data)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.project.state / _FILE}': {reason}") from None


def _read_exempted(at: PublishContext) -> str | None:
    try:
        data = (at.project.state / _FILE).read_bytes()
        return msgspec.json.decode(data, type=Exemption).revision
    except (OSError, msgspec.MsgspecError):
        return None
