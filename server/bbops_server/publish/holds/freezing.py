"""Hold new commits while publications are frozen, except an exempt one."""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.standing import may_still
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.values import BuiltRevision
from bbops_server.publish.status.status import Stalled, now
from bbops_server.settings.freezes import Frozen, find_frozen

_FILE = "exempted.json"


class Exemption(msgspec.Struct, frozen=True):
    """A revision that may be published during a freeze.

    Attributes:
        who: the e-mail address of the user.
        account: the id of the user's account; empty for the user of this machine.
        project: the name of the project.
    """

    revision: str
    who: str
    at: datetime
    account: str = ""
    project: str = ""


def find_freeze(at: PublishContext) -> Frozen | None:
    """Return the freeze in force, None without one. Drafts are never frozen."""
    return None if at.is_draft else find_frozen(at.plane.settings.freezes, now())


def hold_frozen(revision: str, applied: str | None, at: PublishContext) -> None:
    """Hold a new revision until a freeze ends; blocks.

    Raises:
        Stalled: the revision is neither live nor exempt.
        DatabaseError: the accounts cannot be read.
    """
    frozen = find_freeze(at)
    if frozen is None or revision == applied or revision == _read_exempted(at):
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
        await asyncio.to_thread(hold_frozen, built.revision, None, at)
    return built


def exempt(
    revision: str | None, at: PublishContext, *, who: str, account: str, project: str
) -> None:  # fmt: skip
    """Exempt a revision from the freeze; `who`, `account` and `project` as of `Exemption`.

    Raises:
        ServerError: nothing is frozen, no revision waits, or the state folder is not writable.
    """
    if find_freeze(at) is None or revision is None:
        raise ServerError("nothing is frozen", hint="'bbops status' says what is live")
    try:
        data = msgspec.json.encode(Exemption(revision, who, now(), account, project))
        replace_file(at.project.state / _FILE, data)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.project.state / _FILE}': {reason}") from None


def _read_exempted(at: PublishContext) -> str | None:
    """Return the exempt revision, as long as its user may suspend and resume publications."""
    try:
        data = (at.project.state / _FILE).read_bytes()
        found = msgspec.json.decode(data, type=Exemption)
    except (OSError, msgspec.MsgspecError):
        return None
    user, project = found.account or found.who, found.project or at.project.name
    is_valid = may_still(at.plane.settings, user, Permission.SUSPEND, project)
    return found.revision if is_valid else None
