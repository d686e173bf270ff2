"""Wait until a push is live, and print its progress."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import perf_counter
from typing import Final

from bbops.base.render import printable
from bbops_server.git_http.checking import render_found
from bbops_server.git_http.hooks import Say
from bbops_server.publish.stages.loop import Reconciler

WAIT_SECONDS: Final = 120.0
_STAGE_SECONDS: Final = 1.0
"""The time after which a stage is printed."""


class Waiting:
    """Waits for one commit of one project."""

    def __init__(self, project: Reconciler, commit: str, say: Say) -> None:
        self._project, self._board, self._commit = project, project.board, commit
        self._before, self._say = project.board.attempted, say
        self._served = project.board.applied  # a server that has just started attempts it first
        self._is_busy, self._old = self._board.conditions["Reconciling"].status, self._board.stalled
        self._began = self._changed = perf_counter()
        self._stage = self._told = ""

    async def run(self, wait_seconds: float = WAIT_SECONDS) -> bool:
        """Wait until the commit is live, has failed or takes too long; return if it is live."""
        self._project.poll_now()
        try:
            async with asyncio.timeout(wait_seconds):
                changed = self._board.changed.next()
                while not await self._is_over():
                    await self._tell_stage()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_STAGE_SECONDS):
                            await changed.wait()
                    changed = self._board.changed.next()
        except TimeoutError:
            await self._say(
                f"not live after {wait_seconds:g} s; publishing continues, see 'bbops status'"
            )
        return self._board.serves(self._commit)

    async def _is_over(self) -> bool:
        if _is_of(self._board.applied, self._commit):
            await self._tell_live()
        elif _is_of(self._board.attempted, self._commit):
            if self._board.conditions["Reconciling"].status:
                return False
            await self._tell_ended()
        elif self._is_held():
            await self._tell_stalled()
        elif self._board.attempted not in {self._before, self._served}:
            await self._say("a newer commit is being published instead")
        else:
            return False
        return True

    def _is_held(self) -> bool:
        """Return whether it stalled before the commit was looked at: nothing may go live now."""
        is_new = self._board.stalled is not None and self._board.stalled is not self._old
        return is_new and not self._is_busy and self._board.attempted == self._before

    async def _tell_stage(self) -> None:
        stage, now = self._board.conditions["Reconciling"].reason, perf_counter()
        if stage != self._stage:
            self._stage, self._changed = stage, now
        elif now - self._changed >= _STAGE_SECONDS and stage != self._told:
            self._told = stage
            await self._say(f"{stage.lower()} …")

    async def _tell_live(self) -> None:
        found, seconds = self._project.newest, perf_counter() - self._began
        version = f" as {self._board.version}" if self._board.version else ""
        where = f"{self._board.release}{version} at {self._board.url}"
        await self._say(f"live: {where} in {seconds:.2f} s")
        if found is None or found.release != self._board.release:
            return  # it was live before the server started
        for change in found.changes:
            await self._say(f"    {printable(change)}")
        if found.warnings:
            await self._say(render_found(found.warnings, self._project.context.project.path))

    async def _tell_ended(self) -> None:
        if self._board.stalled is None:
            name = printable(self._board.name)
            await self._say(f"'{name}' stays {self._board.release}: none of its files have changed")
        await self._tell_stalled()

    async def _tell_stalled(self) -> None:
        stalled = self._board.stalled
        if stalled is None:
            return
        await self._say(f"not live: {self._board.describe_live()} [{stalled.reason}]")
        if stalled.diagnostics:
            path = self._project.context.project.path
            await self._say(render_found(stalled.diagnostics, path))
            return
        await self._say(printable(stalled.message))
        if stalled.hint:
            await self._say(f"    hint: {printable(stalled.hint)}")


def _is_of(revision: str | None, commit: str) -> bool:
    return revision is not None and revision.endswith(f":{commit}")
