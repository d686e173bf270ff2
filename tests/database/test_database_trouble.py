"""A database in trouble: no room, no permission, a lock that stays. Reads go on, writes resume."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from bbops.database.sqlite.driver import Sqlite
from bbops.runtime.values.failures import Unavailable

INSERT = "INSERT INTO notes (title) VALUES (?)"
LONG = "x" * 3_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make(tmp_path / "data.sqlite")


def make(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT) STRICT")
    return path


@contextmanager
def no_room(path: Path) -> Iterator[None]:
    """Let no file grow beyond what the write-ahead log has now: the system says 'too large'."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (Path(f"{path}-wal").stat().st_size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    subprocess.run(["mount", *options], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


async def check_that_reads_go_on_and_writes_come_back(
    database: Sqlite, path: Path, trouble: object, codes: set[str]
) -> None:
    await database.write(INSERT, ("before",))
    with trouble:  # type: ignore[attr-defined]
        for _ in range(3):
            with pytest.raises(Unavailable) as caught:
                await database.write(INSERT, (LONG,))
            assert caught.value.code in codes
            assert "disk" in caught.value.hint
            with pytest.raises(Unavailable):
                await database.write_all([(INSERT, (LONG,))] * 2)
            assert await database.read("SELECT title FROM notes") == [("before",)]
        crowd = await asyncio.gather(
            *(database.write(INSERT, (LONG,)) for _ in range(20)), return_exceptions=True
        )
        assert all(isinstance(one, Unavailable) for one in crowd)
    await database.write(INSERT, ("after",))
    await asyncio.gather(*(database.write(INSERT, ("crowd",)) for _ in range(20)))
    titles = [title for (title,) in await database.read("SELECT title FROM notes ORDER BY id")]
    assert titles == ["before", "after", *["crowd"] * 20]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_files_that_may_not_grow_stop_writes_until_they_may(path: Path) -> None:
    async def main() -> None:
        database = await Sqlite.open(path)
        codes = {"storageFull", "storageFailed"}
        await check_that_reads_go_on_and_writes_come_back(database, path, no_room(path), codes)
        await database.close()

    asyncio.run(main())


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4_096):
            pass
    yield
    filler.unlink()


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_a_full_disk_stops_writes_until_there_is_room(tmp_path: Path, durability: str) -> None:
    async def main(path: Path) -> None:
        database = await Sqlite.open(path, durability=durability)  # type: ignore[arg-type]
        await check_that_reads_go_on_and_writes_come_back(
            database, path, filled(path.parent), {"storageFull"}
        )
        await database.close()

    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(tmp_path)):
        asyncio.run(main(make(tmp_path / "data.sqlite")))


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        path.chmod(0o400)
        yield
        path.chmod(0o600)
        return
    with mounted(path, "--bind", str(path), str(path)):
        subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True)
        yield


def test_a_file_that_is_read_only_is_read_and_not_written(path: Path) -> None:
    async def main() -> None:
        database = await Sqlite.open(path)
        assert await database.read("SELECT title FROM notes") == []
        with pytest.raises(Unavailable, match="read-only") as caught:
            await database.write(INSERT, ("x",))
        assert caught.value.code == "storageReadOnly"
        await database.close()

    with read_only(path):
        asyncio.run(main())


@pytest.mark.long
def test_a_lock_that_stays_is_said_to_all_who_wait_at_once(path: Path) -> None:
    async def main() -> None:
        database = await Sqlite.open(path)
        loop = asyncio.get_running_loop()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            begun = loop.time()
            waiting = [asyncio.create_task(database.write(INSERT, ("x",))) for _ in range(30)]
            await asyncio.sleep(0.1)
            assert await database.read("SELECT title FROM notes") == []
            told = await asyncio.gather(*waiting, return_exceptions=True)
            assert {getattr(one, "code", one) for one in told} == {"storageBusy"}
            assert 4 < loop.time() - begun < 12
            other.execute("ROLLBACK")
        await database.write(INSERT, ("after",))
        assert await database.read("SELECT title FROM notes") == [("after",)]
        await database.close()

    asyncio.run(main())
