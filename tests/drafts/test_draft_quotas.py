"""What a draft may keep and use, each bound by itself."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bbops.database.sqlite import limits
from bbops.database.sqlite.connection import connect
from bbops.runtime.values.failures import Unavailable
from bbops_server.data_plane.draft_process.draft import BoundedLog
from bbops_server.data_plane.drafts.usage import Usage, Used, read_folder_bytes, read_used
from bbops_server.data_plane.drafts.wire import MOST_FRAME_BYTES, Head, Part, Start, Wire
from bbops_server.data_plane.live.history import History, RestingHistory, find
from bbops_server.process.forks.limits import CPU_WINDOW_SECONDS, TEST_RUN
from bbops_server.process.host.run_folders import RunFolders
from tests.support.patience import wait_for


def test_a_database_that_is_full_refuses_rows_and_keeps_those_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_most", [])
    limits.limit_size(1 << 20)
    with closing(connect(tmp_path / "data.sqlite", create=True)) as database:
        database.execute("CREATE TABLE notes (text TEXT)")
        database.execute("INSERT INTO notes VALUES ('kept')")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            database.execute("INSERT INTO notes VALUES (zeroblob(2000000))")
        assert database.execute("SELECT text FROM notes").fetchall() == [("kept",)]


def test_uploads_beyond_the_quota_are_refused_until_some_are_removed(tmp_path: Path) -> None:
    async def write() -> None:
        folders = RunFolders(tmp_path / "runs", 1_000)
        first, second = folders.open(), folders.open()
        await first.append("a", b"x" * 900)
        with pytest.raises(Unavailable) as refused:
            await second.append("b", b"x" * 200)
        assert refused.value.code == "storageFull"
        first.remove()
        await second.append("b", b"x" * 200)
        folders.close()

    asyncio.run(write())


class Kept:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        self.lines.append(message)


def test_a_log_that_is_flooded_leaves_lines_out() -> None:
    kept = Kept()
    log = BoundedLog(kept, 1_000)
    for number in range(10_000):
        log.write("info", f"line {number}", {})
    assert 10 < len(kept.lines) < 100


def test_a_process_that_takes_more_than_its_share_is_busy_until_it_calms_down() -> None:
    usage = Usage()
    for second in range(0, int(CPU_WINDOW_SECONDS) + 4, 2):
        usage.take(Used(second, 0.9 * second, 1))
    assert usage.busy_since is not None
    usage.take(Used(second + 2, 0.9 * second, 1))
    assert usage.busy_since is None
    assert usage.is_idle


def test_a_short_burst_is_nobodys_business() -> None:
    usage = Usage()
    for second, cpu in ((0, 0), (2, 2), (4, 4), (6, 6), (8, 6), (40, 6)):
        usage.take(Used(second, cpu, 1))
        assert usage.busy_since is None


def takes_memory(pid: int, least_bytes: int) -> bool:
    used = read_used(pid)
    return used is not None and used.memory_bytes > least_bytes


def test_what_a_process_and_a_folder_take_is_read_from_the_system(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        wait_for(lambda: takes_memory(process.pid, 1 << 20))
        process.communicate(b"\n")
    assert read_used(process.pid) is None
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/file").write_bytes(b"x" * 100_000)
    assert 100_000 <= read_folder_bytes(tmp_path) < 200_000
    assert read_folder_bytes(tmp_path / "none") == 0


def test_a_resting_history_writes_what_it_is_told_and_what_is_left_at_the_end(
    tmp_path: Path,
) -> None:
    history = RestingHistory(tmp_path / "history.sqlite", 1 << 20)
    row: Any = (0.0, "GET", "/a", "/a", "a", 200, 1.0, "r", "", "", b"1", "", "", "", [], None)
    plain = History(tmp_path / "plain.sqlite")
    for one in (history, plain):
        one.remember(row)
    wait_for(lambda: history.path.exists() and find(history.path))
    history.remember(row)
    for one in (history, plain):
        one.close()
    assert len(find(history.path)) == 2
    assert len(find(plain.path)) == 1


def test_only_frames_of_a_known_shape_cross() -> None:
    async def read(data: bytes) -> Any:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await Wire(reader, None).read()  # type: ignore[arg-type]

    def framed(data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + data

    import msgspec  # noqa: PLC0415

    encode = msgspec.msgpack.encode
    assert asyncio.run(read(framed(encode(Part(b"x", more=True))))) == Part(b"x", more=True)
    for wrong in (
        b"", b"\0\0", framed(b"\xc1"), framed(encode({"status": 200})),
        framed(encode(Start(103, []))), framed(encode(["start", 200, [["a", 1]]])),
        (MOST_FRAME_BYTES + 1).to_bytes(4, "big") + b"x" * MOST_FRAME_BYTES,
        framed(encode(Start(200, [(b"a", b"b")] * 500))),
    ):  # fmt: skip
        assert asyncio.run(read(wrong)) is None
    head = Head("GET", "/", b"/", b"", "", [], ("::1", 1), "http", leads=False)
    assert asyncio.run(read(framed(encode(head)))) == head


def test_limits_bind_a_process_for_good(tmp_path: Path) -> None:
    code = (
        "import os, resource\n"
        "from bbops_server.process.forks import limits\n"
        "limits.apply(limits.TEST_RUN)\n"
        "try:\n    x = bytearray(600 << 20)\nexcept MemoryError:\n    print('memory')\n"
        "try:\n    open('x', 'wb').close(); os.truncate('x', 200 << 20)\n"
        "except OSError as error:\n    print(error.errno)\n"
        "try:\n    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))\n"
        "except (ValueError, PermissionError):\n    print('bound')\n"
        "print(os.getpriority(os.PRIO_PROCESS, 0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = done.stdout.split()
    assert lines[:2] == ["memory", "27"]  # EFBIG
    assert lines[-1] == str(TEST_RUN.nice)
