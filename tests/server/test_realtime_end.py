"""A process that has yet to find the center of messages: what it says waits, and comes once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbops.runtime.realtime.topics import Kept
from bbops_server.data_plane.realtime.fanout import end as ends
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.end import RemoteEnd, listen
from tests.conftest import run
from tests.support.patience import settle


def center_at(path: Path) -> Callable[[Center], Any]:
    """Return what starts a center at a path."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    descriptor = os.dup(listening.fileno())
    listening.close()
    return lambda center: listen(center, descriptor)


async def texts(end: RemoteEnd) -> list[bytes]:
    """Return what the center has kept."""
    assert await end.ready()
    seen = await end.look("shop", "hall", most=1_000)
    assert seen is not None
    return [data for _, data in seen.messages]


def say(end: RemoteEnd, *several: bytes) -> None:
    for data in several:
        end.publish("shop", "hall", data, Kept(100, 60.0), is_counted=True)


def test_what_is_said_before_the_center_is_found_comes_in_order_and_once(tmp_path: Path) -> None:
    async def story() -> list[bytes]:
        end = RemoteEnd(str(tmp_path / "center"))
        end.open()
        say(end, b"1", b"2")
        await settle()
        say(end, b"3")
        serving = await center_at(tmp_path / "center")(Center())
        found = await texts(end)
        say(end, b"4")
        again = await texts(end)
        end.close()
        serving.close()
        assert found == [b"1", b"2", b"3"]
        return again

    assert run(story()) == [b"1", b"2", b"3", b"4"]


def test_what_has_waited_too_long_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> list[bytes]:
        end = RemoteEnd(str(tmp_path / "center"))
        end.open()
        say(end, b"old")
        now = ends.monotonic() + ends.READY_SECONDS
        monkeypatch.setattr(ends, "monotonic", lambda: now)
        say(end, b"new")
        serving = await center_at(tmp_path / "center")(Center())
        found = await texts(end)
        end.close()
        serving.close()
        return found

    assert run(story()) == [b"new"]


def test_a_process_keeps_a_mebibyte_of_them_at_most(tmp_path: Path) -> None:
    async def story() -> int:
        end = RemoteEnd(str(tmp_path / "center"))
        say(end, *[b"x" * 30_000] * 100)
        end.open()
        serving = await center_at(tmp_path / "center")(Center())
        found = await texts(end)
        end.close()
        serving.close()
        return len(found)

    assert run(story()) == ends.MOST_WAITING // 30_000
