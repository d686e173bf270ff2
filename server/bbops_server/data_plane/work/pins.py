"""Keep the artifacts of releases that jobs have begun with, for as long as such a job is there.

A kept artifact is a hard link, so it costs no space while the server keeps the artifact anyway.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from bbops.base.disk import replace_file
from bbops.base.errors import DatabaseError, ServerError
from bbops.database.open import Opened
from bbops.database.schema.place import Place
from bbops.runtime.agents.control import AgentControl
from bbops.runtime.linking.work import Work
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.control import DAY_MS, WorkControl
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.values import HeldError
from bbops.runtime.work.worker import WorkPlan

Code: TypeAlias = tuple[str, str]
"""The name of a trigger, task or function, and the digest of what it runs."""


class Pins:
    """The artifacts of one project that hold old code. Its methods read and write files."""

    def __init__(self, folder: Path) -> None:
        """Args: `folder`: is made when something is kept. It holds what artifacts hold: code."""
        self._folder = folder

    def keep(self, artifact: Path, codes: Iterable[Code]) -> None:
        """Keep an artifact, in which all of this code is; code that is kept already stays."""
        kept = self._kept()
        new = [key for key in map(_key, codes) if key not in kept]
        if new:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for key in new:
            _link(artifact, self._folder / f"{artifact.name}.{key}")

    def find(self, code: Code) -> Path | None:
        """Return the artifact that holds a code; None where it is not kept."""
        return self._kept().get(_key(code))

    def sweep(self, needed: Iterable[Code], before: float) -> None:
        """Forget everything else that was kept before a time, in seconds since 1970.

        What is newer may be of a release that is about to go live.
        """
        keys = {_key(code) for code in needed}
        for key, file in self._kept().items():
            if key not in keys and file.stat().st_ctime < before:  # a link sets it, and only that
                file.unlink(missing_ok=True)

    def _kept(self) -> dict[str, Path]:
        if not self._folder.is_dir():
            return {}
        return {file.suffix[1:]: file for file in self._folder.iterdir()}


def _key(code: Code) -> str:
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:32]


def _link(source: Path, target: Path) -> None:
    """Link a file, or copy it where the file system has no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        replace_file(target, source.read_bytes())


LinkOld: TypeAlias = Callable[[Path], Awaitable[Work]]
"""Links the work of a release before the live one, of its artifact."""

_CHANGED: Final = "its function has changed since it began, and"


class PinnedWork:
    """The work of the live release, and of those before it that jobs have begun with."""

    def __init__(self, live: Work, pins: Pins, link: LinkOld, database: Opened) -> None:
        self._live, self._pins, self._link, self._database = live, pins, link, database
        self._old = dict[Code, Work]()

    async def run(self, recorded: RunRecord) -> str | None:
        """Run the function of a job; as `Work.run`.

        A job that has done nothing yet runs what is live. Code that does not fit the tables any
        more is not begun: its job is held.
        """
        code = recorded.job.work, recorded.code
        is_live = not recorded.code or self._live.codes.get(code[0]) == code[1]
        work = self._live if is_live else await self._find(code)
        if not is_live:
            await self._require_fitting(work, code[0])
        try:
            return await work.run(recorded)
        except Failure:  # the tables may have changed meanwhile
            if code[0] in work.codes:
                await self._require_fitting(work, code[0])
            raise

    async def _find(self, code: Code) -> Work:
        if code not in self._old:
            file = await asyncio.to_thread(self._pins.find, code)
            if file is None:
                raise HeldError(f"{_CHANGED} this server no longer has its old code")
            try:
                self._old[code] = await self._link(file)
            except (ServerError, Failure) as error:
                raise HeldError(f"{_CHANGED} its old code does not run: {error}") from None
        return self._old[code]

    async def _require_fitting(self, work: Work, name: str) -> None:
        """Raises: HeldError: a query of its code does not fit the tables."""
        for sql in dict.fromkeys(work.statements(name)):
            try:
                await self._database.prepare(sql)
            except DatabaseError as error:
                await self._database.read("SELECT 1")  # fails where the database is away
                message = f"the tables have changed since it began: {error.message}"
                raise HeldError(message) from None


RUNS_KEPT_MS: Final = 30 * DAY_MS
"""The age at which runs of agents are deleted, as deliveries are."""

_PINS_SPARED_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Assigned:
    """The work of the live release, where its jobs are, and where old code is kept."""

    work: Work
    database: Opened
    place: Place
    pins: Pins

    def plan(self, link_old: LinkOld) -> WorkPlan:
        """Return how its jobs run: each on the code that it began with."""
        pinned = PinnedWork(self.work, self.pins, link_old, self.database)
        return replace(self.work.plan, run=pinned.run)

    async def sweep(self, control: WorkControl, keep_seconds: float) -> None:
        """Forget what is older than it is kept, and old code that no job needs."""
        await control.sweep(round(1000 * keep_seconds))
        now = now_ms()
        await AgentControl(self.database).sweep(now, now - RUNS_KEPT_MS)
        needed = [one.code for one in await control.code_in_use()]
        before = now / 1000 - _PINS_SPARED_SECONDS
        await asyncio.to_thread(self.pins.sweep, [*needed, *self.work.codes.items()], before)
