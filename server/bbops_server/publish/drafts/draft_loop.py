"""A branch with a preview, and the loop that follows it while it is awake."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import DraftState
from bbops_server.process.host.secrets import Secrets
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.status import Stalled
from bbops_server.settings import ProjectSettings, WebhookEvent

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class FollowedDraft:
    """A branch; `reconciler` follows it while it is awake, but not while it `is_emptied`.

    `notified` is the last commit and event that webhooks were notified of.
    """

    branch: str
    commit: str
    settings: ProjectSettings
    reconciler: Reconciler | None = None
    task: asyncio.Task[None] | None = None
    used_at: float = 0.0
    renewed: str = ""
    is_emptied: bool = False
    notified: tuple[str, WebhookEvent] | None = None


def state_of(reconciler: Reconciler | None) -> DraftState:
    """Return the state of a draft by its reconciler."""
    if reconciler is None:
        return "asleep"
    if reconciler.board.stalled:
        return "stalled"
    return "awake" if reconciler.board.release else "waking"


async def follow(reconciler: Reconciler, state: Path) -> None:
    """Follow a branch until cancelled; errors affect only this draft."""
    try:
        Secrets.open(state)  # creates the folder
        await reconciler.run()
    except BbopsError as error:
        reconciler.stall(Stalled("StateNotWritable", error.message, error.hint))
    except Exception as error:  # noqa: BLE001 - the other drafts keep serving
        _log.exception("the draft '%s' failed", reconciler.board.branch)
        reconciler.stall(Stalled("InternalError", f"unexpected {type(error).__name__}"))
