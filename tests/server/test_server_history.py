"""The request history, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbops_server.data_plane.live import history
from bbops_server.data_plane.live.history import History, find
from tests.support.recorded_requests import answered, remember


def trim(path: Path) -> None:
    kept = History(path)
    kept._trim()
    kept.close()


def paths(found: list[dict[str, Any]]) -> list[str]:
    return [one["path"] for one in found]


def test_the_newest_requests_come_last(tmp_path: Path) -> None:
    kept = remember(tmp_path / "history.sqlite", *(answered(f"/{at}") for at in range(5)))
    assert paths(find(kept, limit=2)) == ["/3", "/4"]


def test_ids_go_on_from_batch_to_batch_and_writer_to_writer(tmp_path: Path) -> None:
    kept = tmp_path / "history.sqlite"
    remember(kept, *(answered(f"/{at}") for at in range(4_203)))
    remember(kept, answered("/last"))
    found = find(kept, limit=9_000)
    assert [one["id"] for one in found] == list(range(1, 4_205))
    assert paths(find(kept, after=4_202)) == ["/4202", "/last"]
    assert find(kept, after=4_204) == []


def test_times_are_those_of_the_wall(tmp_path: Path) -> None:
    before = history._now()
    kept = remember(tmp_path / "history.sqlite", answered())
    (found,) = find(kept)
    at = history.datetime.fromisoformat(found["at"]).timestamp()
    assert before - 0.1 < at < history._now() + 0.1


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"status": "4xx"}, ["/missing"]),
        ({"status": 500}, ["/broken"]),
        ({"method": "POST"}, ["/broken"]),
        ({"slower_than": 100}, ["/slow"]),
        ({"path": "/slow", "status": "2xx"}, ["/slow"]),
        ({"release": "other"}, []),
        ({"endpoint": "notes"}, ["/missing", "/broken", "/slow"]),
        ({"endpoint": "other"}, []),
        ({"text": "MISS"}, ["/missing"]),
        ({"text": "nowhere"}, []),
        ({"since": 4e9}, []),
        ({"since": 1e9, "until": 1.1e9}, []),
        ({"until": 4e9, "status": "4xx"}, ["/missing"]),
        ({"method": None, "status": ""}, ["/missing", "/broken", "/slow"]),
    ],
)
def test_filters_leave_out_the_rest(
    tmp_path: Path, filters: dict[str, Any], expected: list[str]
) -> None:
    rows = (
        answered("/missing", 404), answered("/broken", 500, method="POST"),
        answered("/slow", milliseconds=250.0),
    )  # fmt: skip
    kept = remember(tmp_path / "history.sqlite", *rows)
    assert paths(find(kept, **filters)) == expected


def test_half_a_character_costs_no_other_request(tmp_path: Path) -> None:
    rows = (answered("/a"), answered("/b", failure="found '\ud800'"))
    kept = remember(tmp_path / "history.sqlite", *rows)
    assert [one["failure"] for one in find(kept)] == ["", "found '?'"]


def test_old_requests_give_way_by_count_and_by_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "history.sqlite"
    for at in range(4):
        remember(kept, answered(f"/{at}"))
    with history.closing(history.connect(kept)) as connection:
        connection.execute("UPDATE answered SET written = written - 86400 * 15 WHERE first = 1")
    monkeypatch.setattr(history, "KEEP_ROWS", 100)
    trim(kept)
    assert paths(find(kept)) == ["/1", "/2", "/3"]
    monkeypatch.setattr(history, "KEEP_ROWS", 2)
    trim(kept)
    assert paths(find(kept)) == ["/2", "/3"]


def test_trimming_an_empty_history_does_nothing(tmp_path: Path) -> None:
    trim(tmp_path / "history.sqlite")
    assert find(tmp_path / "history.sqlite") == []
