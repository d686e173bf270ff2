"""The record of a Playground request is found in a busy history, by its id."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from bbops.review.replay.sending import Reply
from bbops_server.mcp.requests import find_record
from tests.support.recorded_requests import answered, remember

SPAN = ("step", "functions/a.yaml:2", 0, 0.1, 0.2, "", None)
TRACED = {"request": b"wanted7", "sender": "ada@example.com", "spans": [SPAN]}


def test_request_is_found_behind_many_newer_ones(tmp_path: Path) -> None:
    began = datetime.now(UTC).timestamp()
    wanted = answered(**TRACED)
    others = [answered(path=f"/wanted7/{number}", request=b"n%d" % number) for number in range(15)]
    newer = [answered(request=b"m%d" % number) for number in range(500)]
    history = remember(tmp_path / "history.sqlite", wanted, *others, *newer)
    reply = Reply(200, (("x-request-id", "wanted7"),), b"")
    _, _, spans = asyncio.run(find_record(history, reply, began, is_traced=True))
    assert [span.place for span in spans] == ["functions/a.yaml:2"]
