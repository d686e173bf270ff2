"""The benchmark works: what it prints and writes, never how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench.contests import contests
from tests.bench.paint import PAGES
from tests.bench.paint import main as paint
from tests.bench.project import large_project, route_paths, served_project
from tests.bench.servers import SERVERS, TITLES
from tests.bench.shots import ADD, ITEM
from tests.bench.tails import main as tails
from tests.bench.work.__main__ import main as work
from tests.bench.work.endpoints import CONTESTS
from tests.conftest import ROOT


@pytest.mark.bench
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_quick_benchmark_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick", "--json", str(file)],
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written: dict[str, Any] = json.loads(file.read_text())
    assert [one["name"] for one in written["contests"]] == [one.name for one in contests()]
    assert all(one["ours"]["failed"] == one["other"]["failed"] == 0 for one in written["contests"])
    peers = ("Litestar by hand", "Litestar with SQLAlchemy", "Litestar with asyncpg")
    for name in ("static JSON", *peers, "memory", "while publishing"):
        assert name in done.stdout
    assert not any(place in file.read_text() for place in (str(ROOT), str(Path.home()), "/tmp"))


@pytest.mark.bench
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_two_commits_are_compared_by_their_cpu_time(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    command = ["--quick", "--against", "HEAD", "--json", str(file)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", *command],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ratios = [each for each in json.loads(file.read_text())["figures"] if each["unit"] == "times"]
    assert [ratio["name"].partition(":")[0] for ratio in ratios] == [
        "static JSON", "row by id", "insert", "publish one of 100 files",
    ]  # fmt: skip
    assert all(ratio["value"] > 0 for ratio in ratios)


def test_every_contest_is_between_servers_there_are() -> None:
    named = {run.server for one in (*contests(), *CONTESTS) for run in (one.ours, one.other)}
    assert named == set(SERVERS) == set(TITLES)


@pytest.mark.parametrize("count", [100, 101, 1_000])
def test_a_large_project_has_as_many_files_as_asked_for(count: int) -> None:
    assert len(large_project(count)) == count


def test_the_served_project_has_a_hundred_endpoints() -> None:
    assert sum(name.startswith("endpoints/") for name in served_project()) == 100


def test_requests_are_what_a_client_would_send() -> None:
    assert ITEM.render()[1].startswith(b"GET /api/items/920 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
    (add,) = ADD.render()
    head, _, body = add.partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head


def test_routes_of_the_table_are_all_different() -> None:
    assert len({path for _, path, _ in route_paths(5_000)}) == 5_000


@pytest.mark.bench
def test_a_part_of_the_benchmark_of_work_prints_its_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert work(["--only", "fitting", "--on", "sqlite"]) == 0
    assert "ten queries are prepared, SQLite" in capsys.readouterr().out


@pytest.mark.bench
@pytest.mark.skipif(sys.platform != "linux", reason="pins processes to cores")
def test_benchmark_of_live_views_prints_the_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    tails(rounds=1, seconds=0.5, tails=10)
    assert "median ratio" in capsys.readouterr().out


@pytest.mark.bench
def test_lcp_and_cls_of_each_page_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    paint(visits=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["fast"] * len(PAGES) + ["slow"] * len(PAGES)
