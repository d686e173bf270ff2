"""Let new commits wait while publications are frozen, but for one that somebody lets through."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.values import Built
from bbops_server.publish.status.status import Stalled, now
from bbops_server.settings.freezes import Frozen, find_frozen

_FILE = "exempted.json"


class Exemption(msgspec.Struct, frozen=True):
    """The revision that goes live in spite of a freeze, and who said so; it counts once."""

    revision: str
    who: str
    at: datetime


def find_freeze(at: PublishContext) -> Frozen | None:
    """Return until when new commits wait; None when they do not. Drafts never do."""
    return None if at.is_draft else find_frozen(at.plane.settings.freezes, now())


def keep_frozen(revision: str, applied: str | None, at: PublishContext) -> None:
    """Let a new revision wait for the end of a freeze.

    Raises:
        Stalled: it is neither live already nor let through.
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


async def keep_frontend_frozen(built: Built, at: PublishContext) -> None:
    """Let a frontend that was tagged beside the live commit wait for the end of a freeze.

    Raises:
        Stalled: it is neither live already nor let through.
    """
    live, tagged = read_record(at), built.facts.tagged
    if live is None or live.revision != built.revision:
        return
    if live.tagged is not None and live.tagged != tagged:
        keep_frozen(built.revision, None, at)


def exempt(revision: str | None, who: str, at: PublishContext) -> None:
    """Let one revision go live in spite of the freeze.

    Raises:
        ServerError: nothing is frozen or waits, or the state folder cannot be written.
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
