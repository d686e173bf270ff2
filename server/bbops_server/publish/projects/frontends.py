"""Publish a frontend separately: files that are in a tag, not in a commit of the project."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import asdict

from bbops.base.errors import ServerError
from bbops.interfaces.answers import FrontendFile, LiveFrontend
from bbops_server.data_plane.pages.frontend import folder_of, read_manifest
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import PublishFrontend
from bbops_server.process.messages.repositories import ReadFrontends
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.events import ReleasePublished
from bbops_server.publish.status.status import Stalled

PUBLISH_SECONDS: Final = 120.0
LIVE_SECONDS: Final = 60.0


class ProjectFrontends:
    """The frontends of a project."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler

    async def list(self) -> list[dict[str, Any]]:
        """Return the separately published frontends, newest first."""
        source = await self._source()
        request = ReadFrontends(source["repository"], source["path"])
        return (await self._build.ask(request, timeout_seconds=PUBLISH_SECONDS)).versions

    async def live(self) -> LiveFrontend | None:
        """Return the files of the live frontend; None without one."""
        at = self._reconciler.context
        record = await asyncio.to_thread(read_record, at)
        if record is None or not record.frontend:
            return None
        try:
            manifest = await asyncio.to_thread(
                read_manifest, folder_of(at.project.state) / record.frontend
            )
        except (OSError, msgspec.MsgspecError):
            return None
        files = [
            FrontendFile(path, asset.size_bytes, asset.brotli_bytes or asset.gzip, asset.type)
            for path, asset in sorted(manifest.files.items())
        ]
        return LiveFrontend(record.frontend, record.tagged or "", files)

    async def publish(
        self, folder: Path, paths: Sequence[str], *, who: str, subject: str
    ) -> dict[str, Any]:
        """Tag files as the next frontend; return when they are live, or have stalled.

        Args:
            folder: the folder of the files.
            paths: the paths of the files in the folder.
            who: the e-mail address of the user.
            subject: the subject of the commit.

        Returns:
            {"version", "commit", "is_live", "message"}.

        Raises:
            ServerError: the project accepts changes by proposals only, or has no frontend.
        """
        if self._reconciler.review.get("main") == "proposals":
            raise ServerError(
                "this project only accepts changes through proposals",
                hint="commit the built files to a branch, and propose it",
            )
        source = await self._source()
        request = PublishFrontend(
            source, str(folder), list(paths), who, subject, self._reconciler.context.engine
        )
        before = self._reconciler.newest, self._reconciler.board.stalled
        published = await self._build.ask(request, timeout_seconds=PUBLISH_SECONDS)
        self._reconciler.source.share_tag(self._build, published.version)
        message = await self._wait(*before)
        return {**asdict(published), "is_live": not message, "message": message}

    async def _wait(self, before: ReleasePublished | None, was_stalled: Stalled | None) -> str:
        """Wait for the publication; return why it is not live, empty once it is.

        Args:
            before: the last publication before the tag.
            was_stalled: the reason for a stalled project before the tag.
        """
        reconciler, board = self._reconciler, self._reconciler.board
        if not isinstance(
            reconciler.source, BranchSource
        ):  # the loop notices a local tag on its own
            reconciler.reconcile()

        def is_stalled() -> bool:
            is_new = board.stalled is not None and board.stalled is not was_stalled
            return is_new and not board.conditions["Reconciling"].status

        def is_over() -> bool:
            return reconciler.newest is not before or is_stalled()

        if not await board.changed.wait(is_over, LIVE_SECONDS):
            return "it is not live yet; 'bbops status' shows the progress"
        stalled = board.stalled if reconciler.newest is before else None
        return stalled.as_sentence() if stalled else ""

    @property
    def _build(self) -> SupervisedChild:
        return self._reconciler.context.plane.build

    async def _source(self) -> dict[str, Any]:
        reconciler = self._reconciler
        source = await live_source(reconciler.source, reconciler.board.applied, self._build)
        if source["kind"] != "git":
            raise ServerError("this project is served from a folder: build into it")
        return source
