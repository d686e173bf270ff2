"""Minutes and hours of the request history: exact counts, whatever happens to their writer."""

from __future__ import annotations

import math
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.http.responses import ANSWERED
from bbops_server.data_plane.live import history, minutes
from bbops_server.data_plane.live.history import History, RestingHistory, connect, find
from bbops_server.data_plane.live.minutes import BOUNDS, percentile
from tests.conftest import ROOT
from tests.support.patience import wait_for
from tests.support.recorded_requests import answered, remember

WRITER = """
import sys
from pathlib import Path
from bbops_server.data_plane.live.history import History
from tests.support.recorded_requests import answered
kept = History(Path(sys.argv[1]))
while True:
    if len(kept.ring) < 1_000:
        kept.remember(answered())
"""


def read(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(connect(path)) as connection:
        return connection.execute(sql).fetchall()


def totals(path: Path) -> tuple[int, int, int]:
    """Return the number of requests in batches, minutes and hours."""
    tables = ("SELECT sum(last - first + 1) FROM answered", "SELECT sum(count) FROM minutes",
              "SELECT sum(count) FROM hours")  # fmt: skip
    batches, in_minutes, in_hours = (read(path, sql)[0][0] or 0 for sql in tables)
    return batches, in_minutes, in_hours  # type: ignore[return-value]


def insert_uncounted(path: Path, *batches: list[tuple[object, ...]]) -> None:
    """Write batches as a server without minutes does."""
    with closing(connect(path)) as connection:
        for batch in batches:
            packed = history._ARRAY + len(batch).to_bytes(4)
            packed += b"".join(history._encode(row) for row in batch)
            values = (len(batch), history._now(), history._now() - perf_counter(), packed)
            connection.execute(history._INSERT, values)


def catch_up(path: Path) -> int:
    """Count the rest, and return in how many transactions."""
    with closing(connect(path)) as connection:
        times = 1
        while minutes.catch_up(connection):
            times += 1
        return times


# ---- percentiles
durations = st.lists(st.floats(0, 60_000, allow_nan=False), min_size=1, max_size=200)


def fill(values: list[float]) -> list[int]:
    packed = history._encode([answered(at=0.0, milliseconds=value) for value in values])
    (row,) = minutes._read(packed, 0.0).values()
    return row[1:-1]


@given(durations, st.floats(0.01, 1))
def test_percentile_is_in_the_bucket_of_the_exact_one(values: list[float], share: float) -> None:
    ranked = sorted(values)
    exact = ranked[max(math.ceil(share * len(values) - 1e-9) - 1, 0)]
    edges = [0.0, *BOUNDS, math.inf]
    start, end = next(pair for pair in pairwise(edges) if exact <= pair[1])
    found = percentile(fill(values), max(values), share)
    assert found is not None
    assert start - 1e-9 <= found <= min(end, max(values)) + 1e-9


@given(durations)
def test_percentiles_rise_with_their_share(values: list[float]) -> None:
    histogram = fill(values)
    found = [percentile(histogram, max(values), share / 20) or 0.0 for share in range(1, 21)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(max(values))


def test_no_requests_have_no_percentile() -> None:
    assert percentile([0] * minutes.BUCKETS, 0.0, 0.95) is None


def test_a_bound_belongs_to_the_bucket_that_it_ends() -> None:
    for number, bound in enumerate(BOUNDS):
        assert fill([bound])[number] == 1
    assert fill([5_000.1])[-1] == 1


# ---- counting
def test_lines_have_the_fields_of_the_history() -> None:
    assert minutes.RequestLine.__struct_fields__ == ANSWERED


def test_a_batch_is_counted_by_minute_class_and_endpoint(tmp_path: Path) -> None:
    rows = (
        answered(milliseconds=3.0), answered(milliseconds=0.2), answered(status=404, endpoint=""),
        answered(status=500, milliseconds=9_000.0, failure="broken"), answered()[:-4],
    )  # fmt: skip
    kept = remember(tmp_path / "history.sqlite", *rows)
    sql = (
        "SELECT route, class, sum(count), sum(h0), sum(h3), max(slowest) FROM minutes GROUP BY 1, 2"
    )
    assert read(kept, sql) == [
        ("", 4, 1, 0, 0, 1.25), ("notes", 2, 3, 1, 1, 3.0), ("notes", 5, 1, 0, 0, 9_000.0),
    ]  # fmt: skip
    assert read(kept, "SELECT DISTINCT at % 3600 FROM hours") == [(0,)]


def test_minutes_follow_the_time_of_requests(tmp_path: Path) -> None:
    now = perf_counter()
    kept = remember(tmp_path / "history.sqlite", *(answered(at=now - 60 * n) for n in range(120)))
    assert read(kept, "SELECT count(*), min(count), max(count) FROM minutes") == [(120, 1, 1)]
    assert read(kept, "SELECT count(*) >= 2, sum(count) FROM hours") == [(1, 120)]


def test_requests_from_the_playground_are_not_counted(tmp_path: Path) -> None:
    path = remember(
        tmp_path / "history.sqlite", answered(), (*answered(), "a@example.com", [["step"]])
    )
    assert totals(path) == (2, 1, 1)


def test_two_writers_add_up(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    writers = [History(path), RestingHistory(path, 1 << 30)]

    def write(writer: History) -> None:
        for _ in range(3_000):
            writer.remember(answered())
        writer.close()

    threads = [threading.Thread(target=write, args=[writer]) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    catch_up(path)
    assert totals(path) == (6_000, 6_000, 6_000)


def test_a_batch_is_not_written_without_its_minutes(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with closing(connect(path)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON hours BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    remember(path, answered())
    assert totals(path) == (0, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_writer_leaves_batches_and_minutes_that_agree(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    for _ in range(3):
        before = totals(path)[0]
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, cwd=ROOT) as process:
            wait_for(lambda before=before: totals(path)[0] > before)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
        batches, in_minutes, in_hours = totals(path)
        assert batches == in_minutes == in_hours > before


# ---- upgrades
def test_history_of_an_older_server_is_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    insert_uncounted(path, *([answered() for _ in range(1_500)] for _ in range(4)))
    assert totals(path) == (6_000, 0, 0)
    assert catch_up(path) == 2
    assert catch_up(path) == 1
    assert totals(path) == (6_000, 6_000, 6_000)


def test_an_interrupted_upgrade_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    insert_uncounted(path, *([answered()] * 2_000 for _ in range(3)))
    with closing(connect(path)) as connection:
        assert minutes.catch_up(connection)
    remember(path, answered("/new"))
    assert totals(path)[1] < 6_001
    catch_up(path)
    assert totals(path) == (6_001, 6_001, 6_001)


def test_batches_of_an_older_server_beside_a_newer_one_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    kept = History(path)
    kept.remember(answered())
    wait_for(lambda: totals(path) == (1, 1, 1))
    insert_uncounted(path, [answered()] * 3)
    kept.remember(answered())
    wait_for(lambda: totals(path) == (5, 5, 5))
    kept.close()


def test_a_resting_history_counts_what_an_older_server_wrote(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    insert_uncounted(path, *([answered()] * 2_000 for _ in range(3)))
    kept = RestingHistory(path, 1 << 30)
    kept.remember(answered())
    wait_for(lambda: totals(path) == (6_001, 6_001, 6_001))
    kept.close()


def test_a_damaged_batch_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    insert_uncounted(path, [answered()], [("short",)], [answered(status="?")], [answered()])
    with closing(connect(path)) as connection:
        connection.execute("UPDATE answered SET requests = x'c1' WHERE first = 1")
    catch_up(path)
    assert totals(path) == (4, 1, 1)


def test_ids_that_begin_again_are_counted(tmp_path: Path) -> None:
    path = remember(tmp_path / "history.sqlite", *[answered()] * 5)
    with closing(connect(path)) as connection:
        connection.execute("DELETE FROM answered")
    remember(path, answered())
    assert totals(path) == (1, 6, 6)
    assert [each["id"] for each in find(path)] == [1]


# ---- age
def test_old_minutes_are_deleted_before_old_hours(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    now = perf_counter()
    days = (0, 13, 15, 399, 401)
    remember(path, *(answered(at=now - day * 86_400) for day in days))
    with closing(connect(path)) as connection:
        minutes.trim(connection, history._now(), history.KEEP_BYTES)
    assert totals(path)[1:] == (2, 4)


def test_a_small_quota_keeps_few_minutes(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    now = perf_counter()
    remember(path, *(answered(at=now - 60 * ago) for ago in range(300)))
    with closing(connect(path)) as connection:
        minutes.trim(connection, history._now(), 100 * minutes.BYTES_PER_ROW)
    assert totals(path)[1:] == (100, 300)


def test_a_file_of_an_older_server_gets_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(history._CREATE)
    assert totals(remember(path, answered())) == (1, 1, 1)
