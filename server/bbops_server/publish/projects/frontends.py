"""Publish a frontend on its own: files that no commit of the project holds, as a tag of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import asdict

from bbops.base.errors import ServerError
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import PublishFrontend
from bbops_server.process.messages.repositories import ReadFrontends
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.events import Published
from bbops_server.publish.status.status import Stalled

KEEP_SECONDS: Final = 120.0
LIVE_SECONDS: Final = 60.0


class Frontends:
    """The frontends of one project; a `FrontendSource` of the control plane."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler

    async def list(self) -> list[dict[str, Any]]:
        """Return those that were published on their own, newest first."""
        source = await self._source()
        asked = ReadFrontends(source["repository"], source["path"])
        return (await self._build.ask(asked, timeout_seconds=KEEP_SECONDS)).versions

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
                "this project only accepts changes through proposals",
                hint="commit the built files to a branch, and propose it",
            )
        source = await self._source()
        asked = PublishFrontend(
            source, str(folder), list(paths), who, subject, self._reconciler.context.engine
        )
        before = self._reconciler.newest, self._reconciler.board.stalled
        made = await self._build.ask(asked, timeout_seconds=KEEP_SECONDS)
        self._reconciler.source.share_tag(self._build, made.version)
        message = await self._wait(*before)
        return {**asdict(made), "is_live": not message, "message": message}

    async def _wait(self, before: Published | None, was_stalled: Stalled | None) -> str:
        """Have the project looked at; return why it is not live, empty once it is.

        Args:
            before: what was published last when there was no tag yet.
            was_stalled: why nothing newer was, likewise.
        """
        one, board = self._reconciler, self._reconciler.board
        if not isinstance(one.source, BranchSource):  # the loop sees a tag here by itself
            one.reconcile()

        def is_stalled() -> bool:
            is_new = board.stalled is not None and board.stalled is not was_stalled
            return is_new and not board.conditions["Reconciling"].status

        def is_over() -> bool:
            return one.newest is not before or is_stalled()

        if not await board.changed.wait(is_over, LIVE_SECONDS):
            return "it is not live yet; 'bbops status' shows the progress"
        stalled = board.stalled if one.newest is before else None
        return stalled.as_sentence() if stalled else ""

    @property
    def _build(self) -> SupervisedChild:
        return self._reconciler.context.plane.build

    async def _source(self) -> dict[str, Any]:
        one = self._reconciler
        source = await live_source(one.source, one.board.applied, self._build)
        if source["kind"] != "git":
            raise ServerError("this project is served from a folder: build into it")
        return source
