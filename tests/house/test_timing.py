"""Tests wait for conditions: a new pause, latency or client without a timeout is rejected."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.house.timing import allowed, in_code, places


def test_no_file_depends_more_on_time_than_before() -> None:
    found = list(places())
    counted, bound = Counter((place.file, place.kind) for place in found), allowed()
    new = [str(place) for place in found if counted[place.file, place.kind]
           > bound[place.file, place.kind]]  # fmt: skip
    assert new == [], "use tests/support/patience.py; latencies belong in tests/bench"


def test_a_lower_count_is_written_down() -> None:
    counted = Counter((place.file, place.kind) for place in places())
    less = [place for place, number in allowed().items() if counted[place] < number]
    assert less == [], "run 'python -m tests.house.timing --write'"


@pytest.mark.parametrize(("code", "kinds"), [
    ("time.sleep(1)", ["pause"]),
    ("await asyncio.sleep(pause)", ["pause"]),
    ("await asyncio.sleep(0)", []),
    ("assert perf_counter() - began < 2", ["elapsed"]),
    ("assert 0.3 < seconds < 1.2", ["elapsed"]),
    ("assert (reply.status, took < 3) == (200, True)", ["elapsed"]),
    ("assert timeout_seconds == 5", []),
    ("httpx.get(url)", ["no timeout"]),
    ("httpx.get(url, timeout=PATIENCE_SECONDS)", []),
    ("httpx.AsyncClient(transport=transport)", []),
])  # fmt: skip
def test_each_kind_of_place_is_found(code: str, kinds: list[str]) -> None:
    code = f"async def test():\n    {code}\n"
    assert [place.kind for place in in_code("test.py", code)] == kinds
