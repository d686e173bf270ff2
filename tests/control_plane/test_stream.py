"""The live view of a project: events of its state and requests, and who receives them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from bbops_server.accounts.rules import Role
from bbops_server.control_plane.islands import stream
from bbops_server.control_plane.web import broadcasts
from bbops_server.data_plane.live.history import MAX_ROWS, HistoryTail
from tests.support.control import Tried, tried
from tests.support.event_streams import open_stream
from tests.support.patience import eventually
from tests.support.recorded_requests import answered, record, remember
from tests.support.served import Served, make_project

__all__ = ["tried"]


def run(tried: Tried, work: Coroutine[Any, Any, None]) -> None:
    tried._runner.run(work)


async def write(tried: Tried, *paths: str) -> None:
    await asyncio.to_thread(record, tried, *map(answered, paths))


def test_new_requests_arrive_with_their_links(tried: Tried) -> None:
    async def watch() -> None:
        await write(tried, "/old")
        async with open_stream(tried, "of=requests&after=1") as opened:
            assert opened.headers["content-type"].startswith("text/event-stream")
            assert opened.headers["cache-control"] == "no-store"
            assert opened.headers["x-accel-buffering"] == "no"
            failed = answered("/new", 500, failure="boom", step="functions/list.yaml:2")
            await asyncio.to_thread(record, tried, failed)
            await eventually(opened.rows)
            (kind, data), *_ = opened.events
            (row,) = data["rows"]
        assert (kind, data["skipped"]) == ("requests", 0)
        assert (row["id"], row["path"], row["status"], row["failure"]) == (2, "/new", 500, "boom")
        assert row["url"] == "/projects/small/requests/2"
        assert row["endpoint_url"] == "/projects/small/endpoints/notes"
        assert row["step_url"] == "/projects/small/files/functions/list.yaml#L2"
        assert "id: 2\n" in opened.text

    run(tried, watch())


def test_browser_continues_after_its_last_event(tried: Tried) -> None:
    async def watch() -> None:
        await write(tried, "/1", "/2", "/3")
        async with open_stream(tried, "of=requests&after=1", last_event_id="2") as opened:
            await eventually(opened.rows)
        assert opened.rows() == [3]

    run(tried, watch())


def test_all_viewers_share_one_reader_which_ends_with_the_last(tried: Tried) -> None:
    shared = tried.control.broadcasts

    async def watch() -> None:
        await write(tried, "/1")
        async with AsyncExitStack() as stack:
            viewers = [
                await stack.enter_async_context(open_stream(tried, "of=requests,status&after=1"))
                for _ in range(5)
            ]
            assert shared.subjects == 2
            await write(tried, "/2")
            for viewer in viewers:
                await eventually(viewer.rows)
                assert viewer.rows() == [2]
        await eventually(lambda: not shared.subjects)

    run(tried, watch())


def test_drafts_have_their_own_requests(tried: Tried) -> None:
    async def watch() -> None:
        async with open_stream(tried, "of=requests&in=slug") as opened:
            await write(tried, "/live")
            await asyncio.to_thread(record, tried, answered("/draft"), draft="slug")
            await eventually(opened.rows)
            (_, data), *_ = opened.events
        assert [row["path"] for row in data["rows"]] == ["/draft"]
        assert data["rows"][0]["url"] == "/projects/small/requests/1?in=slug"

    run(tried, watch())


def test_state_is_sent_first_and_after_each_change(tried: Tried) -> None:
    async def watch() -> None:
        async with open_stream(tried, "of=status") as opened:
            await eventually(lambda: opened.events)
            assert opened.events[0] == ("status", {"state": "live", "revision": "main@sha1:a"})
            tried.source.status_changes = {"applied_revision": "main@sha1:c"}
            await eventually(lambda: len({*map(str, opened.events)}) == 2)
            assert opened.events[-1][1]["revision"] == "main@sha1:c"

    run(tried, watch())


def test_stream_ends_when_the_session_ends(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(broadcasts, "PING_SECONDS", 0.0)

    async def watch() -> None:
        async with open_stream(tried, "of=status") as opened:
            await eventually(lambda: ":\n\n" in opened.text)  # checked, and still allowed
            assert not opened.is_finished
            person = tried.book.people.get("ada@example.com")
            assert person is not None
            tried.book.sessions.end_all(person.id)
            await eventually(lambda: opened.is_finished)

    run(tried, watch())


def test_no_frame_is_sent_after_the_end_of_the_account(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcasts, "PING_SECONDS", 3_600.0)

    async def watch() -> None:
        async with open_stream(tried, "of=requests&after=1") as opened:
            await write(tried, "/1", "/2")
            await eventually(opened.rows)
            person = tried.book.people.get("ada@example.com")
            assert person is not None
            tried.book.sessions.end_all(person.id)
            await write(tried, "/3")
            await eventually(lambda: opened.is_finished)
        assert 3 not in opened.rows()

    run(tried, watch())


def test_streams_end_with_the_server_and_new_ones_are_refused(tried: Tried) -> None:
    async def watch() -> None:
        async with open_stream(tried, "of=requests,status") as opened:
            tried.control.broadcasts.close()
            await eventually(lambda: opened.is_finished)
        async with open_stream(tried, "of=status") as refused:
            assert refused.status == 503
            assert refused.headers["retry-after"] == "5"

    run(tried, watch())


def test_number_of_viewers_is_limited(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcasts, "MAX_VIEWERS", 1)

    async def watch() -> None:
        async with open_stream(tried, "of=status"), open_stream(tried, "of=status") as second:
            assert second.status == 503

    run(tried, watch())


def test_number_of_viewers_of_a_user_is_limited(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcasts, "MAX_VIEWERS_OF_USER", 1)
    tried.add("eve@example.com", project=Role.VIEWER)

    async def watch() -> None:
        async with open_stream(tried, "of=status"), open_stream(tried, "of=status") as second:
            assert second.status == 503
            async with open_stream(tried, "of=status", "eve@example.com") as other:
                assert other.status == 200
        async with open_stream(tried, "of=status") as later:
            assert later.status == 200

    run(tried, watch())


def test_viewer_with_a_future_id_leaves_requests_to_others(tried: Tried) -> None:
    async def watch() -> None:
        await write(tried, "/1")
        async with (
            open_stream(tried, "of=requests&after=999999999999999"),
            open_stream(tried, "of=requests&after=1") as viewer,
        ):
            for _ in range(20):  # those before the first look of the shared reader are not sent
                await write(tried, "/new")
            await eventually(lambda: 21 in viewer.rows())

    run(tried, watch())


def test_viewer_that_does_not_keep_up_is_closed() -> None:
    async def overflow() -> None:
        viewer = broadcasts.Viewer()
        for number in range(100):
            viewer.put(b"%d" % number)
        frames = [frame async for frame in _frames(viewer)]
        assert frames[0] == b"0"
        assert len(frames) < 100

    asyncio.run(overflow())


async def _frames(viewer: broadcasts.Viewer) -> Any:
    while (frame := await viewer.next()) is not None:
        yield frame


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("small/stream", 400), ("small/stream?of=", 400), ("small/stream?of=all", 400),
        (f"small/stream?of=requests&after={10**30}", 400),
        ("other/stream?of=status", 404), ("small/stream?of=requests&in=none", 404),
    ],
)  # fmt: skip
def test_invalid_stream_is_refused(tried: Tried, path: str, status: int) -> None:
    answer = tried.as_person("ada@example.com").get(f"/api/projects/{path}")
    assert answer.status_code == status, answer.text


def test_viewers_may_not_watch_requests(tried: Tried) -> None:
    tried.add("eve@example.com", project=Role.VIEWER)
    answer = tried.as_person("eve@example.com").get("/api/projects/small/stream?of=status,requests")
    assert answer.status_code == 403


# ---- the reader of a history
def test_tail_reads_each_request_once(tmp_path: Path) -> None:
    path = remember(tmp_path / "history.sqlite", answered("/1"), answered("/2"))
    tail = HistoryTail(path, after=1)
    rows, skipped = tail.read()
    assert ([row["path"] for row in rows], skipped) == (["/2"], 0)
    assert tail.read() == ([], 0)
    remember(path, answered("/3"))
    assert [row["path"] for row in tail.read()[0]] == ["/3"]


def test_tail_counts_the_requests_that_it_leaves_out(tmp_path: Path) -> None:
    path = remember(tmp_path / "history.sqlite", answered("/first"))
    tail = HistoryTail(path, after=1)
    remember(path, *(answered(f"/{number}") for number in range(MAX_ROWS + 312)))
    rows, skipped = tail.read()
    assert (len(rows), skipped) == (MAX_ROWS, 312)
    assert rows[-1]["path"] == f"/{MAX_ROWS + 311}"


def test_tail_continues_in_a_history_that_begins_again(tmp_path: Path) -> None:
    path = remember(tmp_path / "history.sqlite", answered("/1"))
    tail = HistoryTail(path, after=100)
    assert tail.read() == ([], 0)
    remember(path, answered("/2"))
    assert [row["path"] for row in tail.read()[0]] == ["/2"]


def test_tail_of_a_missing_history_is_empty(tmp_path: Path) -> None:
    tail = HistoryTail(tmp_path / "history.sqlite")
    assert tail.read() == ([], 0)
    remember(tmp_path / "history.sqlite", answered("/1"))
    assert [row["id"] for row in tail.read()[0]] == [1]


def test_open_stream_ends_completely_when_the_server_stops(tmp_path: Path) -> None:
    with Served(make_project(tmp_path / "sample"), tmp_path / "home") as served:
        served.live()
        with served.control.stream("GET", "/api/projects/sample/stream?of=status") as answer:
            parts = answer.iter_bytes()
            assert next(parts).startswith(b"retry: 1000\n\nevent: status\n")
            served.process.send_signal(signal.SIGTERM)
            assert [*parts] == []  # an aborted response would raise
        assert served.stop() == 0
