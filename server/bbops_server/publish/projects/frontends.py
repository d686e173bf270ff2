"""Publish a frontend on its own: files that no commit of the project holds, as a tag of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.events import Published
from bbops_server.publish.status.status import Stalled

KEEP_SECONDS: Final = 120.0
LIVE_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.02


class Frontends:
    """The frontends of one project; a `FrontendSource` of the control plane."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler

    async def list(self) -> list[dict[str, Any]]:
        """Return those that were published on their own, the newest first."""
        source = await self._source()
        asked = {"do": "frontends", "repository": source["repository"], "folder": source["path"]}
        answer = await self._build.ask(asked, timeout_seconds=KEEP_SECONDS)
        return list(answer["versions"])

    async def publish(
        self, folder: Path, paths: Sequence[str], *, who: str, subject: str
    ) -> dict[str, Any]:
        """Tag files as the next frontend, and return when they are live, or will not be.

        Args:
            folder: where they lie.
            paths: of the files from there.
            who: publishes them.
            subject: of their commit.

        Returns:
            {"version", "commit", "is_live", "message"}.

        Raises:
            ServerError: the project takes changes by proposals alone, or has no frontend.
        """
        if self._reconciler.review.get("main") == "proposals":
            raise ServerError(
                "this project changes by proposals alone",
                hint="commit the built files to a branch, and propose it",
            )
        source = await self._source()
        asked = {
            "do": "publish frontend", "source": source, "from": str(folder), "paths": list(paths),
            "who": who, "subject": subject, "engine": self._reconciler.context.engine,
        }  # fmt: skip
        before = self._reconciler.newest, self._reconciler.board.stalled
        made = await self._build.ask(asked, timeout_seconds=KEEP_SECONDS)
        self._reconciler.source.share_tag(self._build, made["version"])
        message = await self._wait(*before)
        return {**made, "is_live": not message, "message": message}

    async def _wait(self, before: Published | None, was_stalled: Stalled | None) -> str:
        """Have the project looked at; return why it is not live, empty once it is.

        Args:
            before: what was published last when there was no tag yet.
            was_stalled: why nothing newer was, likewise.
        """
        one, board = self._reconciler, self._reconciler.board
        if not isinstance(one.source, BranchSource):  # the loop sees a tag here by itself
            one.reconcile()
        until = monotonic() + LIVE_SECONDS
        while monotonic() < until:
            if one.newest is not before:
                return ""
            is_over = not board.conditions["Reconciling"].status
            if is_over and board.stalled is not None and board.stalled is not was_stalled:
                return board.stalled.as_sentence()
            await asyncio.sleep(_LOOK_SECONDS)
        return "it is not live yet; 'bbops status' says how far it is"

    @property
    def _build(self) -> Any:
        return self._reconciler.context.plane.build

    async def _source(self) -> dict[str, Any]:
        one = self._reconciler
        source = await live_source(one.source, one.board.applied, self._build)
        if source["kind"] != "git":
            raise ServerError("this project is served from a folder: build into it")
        return source
