"""What is told to end does so, whatever else happens in that moment."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bbops_server.publish.projects.file_follower import FileFollower, FileOptions
from bbops_server.settings.server_file.model import ServerFile
from tests.support.patience import PATIENCE_SECONDS, settle


@pytest.mark.parametrize("turns", range(6))
def test_a_loop_that_is_asked_and_ended_at_once_ends(turns: int, tmp_path: Path) -> None:
    async def follow(followed: FileFollower) -> None:
        while True:
            await followed.wait(None)

    async def tell() -> bool:
        plane: Any = None  # nothing is applied
        options = FileOptions(tmp_path / "server.yaml", 1.0, {})
        followed = FileFollower(options, ServerFile(projects={}), plane)
        task = asyncio.create_task(follow(followed))
        await settle()
        followed.poll_requested.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        return task.cancelled()

    assert asyncio.run(tell())
