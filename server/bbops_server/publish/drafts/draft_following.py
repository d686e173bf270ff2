"""One branch that is previewed, and the loop that follows it while it is awake."""

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
class Draft:
    """One branch; `reconciler` follows it while it is awake, and nothing while it `is_emptied`.

    Others were `told` last of this commit, and this.
    """

    branch: str
    commit: str
    settings: ProjectSettings
    reconciler: Reconciler | None = None
    task: asyncio.Task[None] | None = None
    asked_at: float = 0.0
    renewed: str = ""
    is_emptied: bool = False
    told: tuple[str, WebhookEvent] | None = None


def state_of(reconciler: Reconciler | None) -> DraftState:
    """Return how far a draft is."""
    if reconciler is None:
        return "asleep"
    if reconciler.board.stalled:
        return "stalled"
    return "live" if reconciler.board.release else "waking"


async def follow(reconciler: Reconciler, state: Path) -> None:
    """Follow a branch until cancelled; what goes wrong is the draft's alone."""
    try:
        Secrets.open(state)  # makes the folder
        await reconciler.run()
    except BbopsError as error:
        reconciler.stall(Stalled("StateNotWritable", error.message, error.hint))
    except Exception as error:  # noqa: BLE001 - the others serve on
        _log.exception("the draft '%s' failed", reconciler.board.branch)
        reconciler.stall(Stalled("InternalError", f"unexpected {type(error).__name__}"))
