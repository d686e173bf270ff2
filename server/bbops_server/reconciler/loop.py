"""Follow a source and publish what it holds; keep the last good release whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from bbops.errors import BbopsError
from bbops_server.reconciler.sources import Source
from bbops_server.reconciler.stages import (
    BEFORE_MIGRATION,
    FROM_MIGRATION,
    Attempt,
    Stage,
    Workshop,
    fill_env,
    swap,
)  # fmt: skip
from bbops_server.reconciler.status import Stalled, Status, StatusBoard

RETRY_SECONDS = 5.0
"""A stalled attempt that no commit can mend, such as a full disk, is tried again after this."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a report says of a publication."""

    revision: str
    release: str
    subject: str
    changes: list[str]
    compiled: int
    milliseconds: float
    url: str
    warnings: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Serving:
    """Said once, when every process runs: where the API and the control plane are."""

    url: str
    control_url: str
    source: str


Stamp = tuple[object, object]
"""Of the source, and of the env values."""

Event = Serving | Published | Stalled
Report = Callable[[Event], None]


class Reconciler:
    """Watches one source. The newest commit always wins; a failing one never blocks the fix."""

    def __init__(self, workshop: Workshop, source: Source, report: Report) -> None:
        settings = workshop.settings
        self.workshop, self.source, self.report = workshop, source, report
        self.board = StatusBoard(settings.repository.name, settings.data_url, settings.branch)
        self.asked = asyncio.Event()

    # ---- StatusSource, for the control plane
    def projects(self) -> list[Status]:
        """Return the status of the one project."""
        return [self.board.status()]

    def reconcile(self, name: str) -> bool:
        """Ask for an attempt now; False when no project has that name."""
        if name != self.board.name:
            return False
        self.asked.set()
        return True

    def history(self, name: str) -> Path | None:
        """Return where the project's requests are remembered."""
        return self.workshop.history if name == self.board.name else None

    # ---- the loop
    async def run(self) -> None:
        """Serve the last good release, then follow the source until cancelled."""
        settings = self.workshop.settings
        self.report(Serving(settings.data_url, settings.control_url, str(settings.repository)))
        await self.restore()
        tried: object = None
        while True:
            stamp = await self.stamp()
            if stamp != tried:
                tried = await self.attempt(stamp)
            else:
                tried = await self.wait(tried)

    async def wait(self, tried: object) -> object:
        """Sleep until the next look; return None to make the next look an attempt."""
        stalled = self.board.stalled
        patience = RETRY_SECONDS if stalled is not None and stalled.is_passing else None
        until = perf_counter() + patience if patience else None
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.asked.wait(), self.source.poll_seconds)
                self.asked.clear()
                return None
            if until is not None and perf_counter() > until:
                return None
            if await self.stamp() != tried:
                return tried

    async def stamp(self) -> Stamp:
        """Return the source's stamp with that of the env values: both change what is served."""
        try:
            return await self.source.stamp(), self.workshop.secrets.stamp()
        except BbopsError as error:
            self.stall(Stalled("RepositoryGone", error.message, error.hint, is_passing=True))
            return None, None

    async def restore(self) -> None:
        """Serve what was live before the restart, from its artifact alone."""
        with contextlib.suppress(
            OSError, KeyError, ValueError, msgspec.MsgspecError, BbopsError, Stalled
        ):
            data = await asyncio.to_thread(self.remembered)
            attempt = Attempt(data["revision"], {}, data)
            await fill_env(attempt, self.workshop)
            await swap(attempt, self.workshop)
            self.board.restored(data["project"], data["revision"], attempt.release)

    def remembered(self) -> dict[str, Any]:
        data: dict[str, Any] = msgspec.json.decode(self.workshop.record.read_bytes())
        if not Path(data["artifact"]).is_file():
            raise FileNotFoundError(data["artifact"])
        return data

    async def attempt(self, stamp: Stamp) -> object:
        """Try what the source holds now.

        Returns:
            The stamp this was an attempt at; None when something newer came in its way.
        """
        began = perf_counter()
        try:
            revision, source = await self.source.revision(self.workshop.plane.build)
            attempt = Attempt(revision, source)
            self.board.begin(revision)
            await self.stages(attempt, BEFORE_MIGRATION)
            newest = await self.stamp()
            if newest[0] != stamp[0]:
                return None
            stamp = newest  # `generate` may have made a value of its own
            await self.stages(attempt, FROM_MIGRATION)
        except Stalled as stalled:
            await self.refuse(stalled)
        except BbopsError as error:
            await self.refuse(Stalled("Failed", error.message, error.hint, is_passing=True))
        except Exception as error:  # noqa: BLE001 - whatever it is, the last release serves on
            message = f"unexpected {type(error).__name__}"
            await self.refuse(Stalled("InternalError", message, is_passing=True))
        else:
            self.published(attempt, 1000 * (perf_counter() - began))
        return stamp

    async def stages(self, attempt: Attempt, stages: tuple[tuple[str, Stage], ...]) -> None:
        for reason, stage in stages:
            self.board.progress(reason)
            await stage(attempt, self.workshop)

    def published(self, attempt: Attempt, milliseconds: float) -> None:
        built = attempt.built
        self.board.publish(built["project"], attempt.revision, attempt.release, milliseconds)
        self.report(
            Published(
                attempt.revision,
                attempt.release,
                built.get("subject", ""),
                attempt.changes,
                built["compiled"],
                milliseconds,
                self.workshop.settings.data_url,
                built["diagnostics"],
            )
        )

    async def refuse(self, stalled: Stalled) -> None:
        """Say why; in `dev` the project's routes say it too."""
        self.stall(stalled)
        if self.workshop.settings.mode == "dev":
            await self.workshop.plane.refuse(stalled.diagnostics or [stalled.as_diagnostic()])

    def stall(self, stalled: Stalled) -> None:
        if self.board.stall(stalled):
            self.report(stalled)
