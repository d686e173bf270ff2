"""The API of requests and their counts: series, rankings, and one request."""

from __future__ import annotations

from typing import Any

import pytest

from bbops_server.accounts.rules import Role
from bbops_server.data_plane.live import traffic
from tests.support.control import Browser, Tried, tried
from tests.support.recorded_requests import ago, answered, record

__all__ = ["tried"]

API = "/api/projects/small"


@pytest.fixture
def ada(tried: Tried) -> Browser:
    return tried.as_person("ada@example.com")


def test_series_has_a_point_for_each_step_and_their_sum(tried: Tried, ada: Browser) -> None:
    record(tried, *[ago(5)] * 3, ago(5, status=500), ago(20, status=404, milliseconds=400.0))
    series = ada.get(f"{API}/minutes").json()
    assert series["step_seconds"] == 60
    assert len(series["points"]) == 61
    assert [point["count"] for point in series["points"] if point["count"]] == [1, 4]
    assert series["total"]["classes"] == {"2xx": 3, "4xx": 1, "5xx": 1}
    assert series["total"]["slowest"] == 400.0
    assert 250 < series["total"]["p99"] <= 400
    assert all(point["p95"] is None for point in series["points"] if not point["count"])


def test_series_of_an_endpoint_leaves_out_the_rest(tried: Tried, ada: Browser) -> None:
    record(tried, ago(1), ago(1, endpoint="orders/create"), ago(1, endpoint="", status=404))
    for endpoint, count in (("notes", 1), ("orders/create", 1), ("none", 0), ("", 1)):
        series = ada.get(f"{API}/minutes", params={"endpoint": endpoint}).json()
        assert series["total"]["count"] == count
        assert series["endpoint"] == endpoint


def test_failures_are_the_same_everywhere(tried: Tried, ada: Browser) -> None:
    """A failed step counts with any status; a refusal does not."""
    step = {"failure": "division by zero", "step": "functions/a.yaml:3"}
    record(tried, ago(1), ago(1, status=400, **step), ago(1, status=404), ago(1, status=503))
    total = ada.get(f"{API}/minutes").json()["total"]
    assert (total["failures"], total["classes"]) == (2, {"2xx": 1, "4xx": 2, "5xx": 1})
    hours = ada.get(f"{API}/minutes", params={"since": traffic.now() - 9 * 86_400}).json()
    assert hours["total"]["failures"] == 2
    (failing,) = ada.get(f"{API}/slowest").json()["failing"]
    assert failing["total"]["failures"] == 2
    listed = ada.get(f"{API}/requests", params={"status": "failed"}).json()
    assert [request["status"] for request in listed] == [400, 503]


@pytest.mark.parametrize("days", [0.04, 1, 2, 3, 14, 60, 400, 4_000])
def test_a_series_is_bounded_whatever_the_period(tried: Tried, ada: Browser, days: float) -> None:
    record(tried, ago(1), ago(24 * 60), ago(13 * 24 * 60))
    since = max(traffic.now() - days * 86_400, 0)
    series = ada.get(f"{API}/minutes", params={"since": since}).json()
    assert 40 <= len(series["points"]) <= traffic.MAX_POINTS
    assert series["total"]["count"] == (1 if days < 1 else 2 if days < 13 else 3)


def test_short_and_long_periods_count_the_same(tried: Tried, ada: Browser) -> None:
    record(tried, *(ago(minutes) for minutes in range(0, 24 * 60, 7)))
    hours, minutes = (
        ada.get(f"{API}/minutes", params={"since": traffic.now() - days * 86_400}).json()
        for days in (10, 1.5)
    )
    assert (hours["step_seconds"] % 3_600, minutes["step_seconds"] < 3_600) == (0, True)
    assert hours["total"]["count"] == minutes["total"]["count"] == 206
    assert hours["total"]["p95"] == minutes["total"]["p95"]


def test_a_ranking_has_the_slowest_and_the_failing_endpoints(tried: Tried, ada: Browser) -> None:
    record(
        tried, *[ago(2, milliseconds=3.0)] * 20, *[ago(2, endpoint="slow", milliseconds=800.0)] * 3,
        *[ago(2, endpoint="broken", status=500)] * 2, ago(2, status=503),
        ago(24 * 60, endpoint="old", status=500),
    )  # fmt: skip
    ranking = ada.get(f"{API}/slowest").json()
    assert [each["endpoint"] for each in ranking["slowest"]] == ["slow", "notes", "broken"]
    assert [each["endpoint"] for each in ranking["failing"]] == ["broken", "notes"]
    assert ranking["slowest"][0]["total"]["count"] == 3
    day = ada.get(f"{API}/slowest", params={"since": traffic.now() - 90_000, "limit": 2}).json()
    assert len(day["slowest"]) == len(day["failing"]) == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"since": 2e9, "until": 1e9}, "the period is empty: 'since' is not before 'until'"),
        ({"since": 1.7e9, "step": 60}, "makes more than 300 points"),
        ({"since": "soon"}, "'since' in the query"),
        ({"step": -1}, "'step' in the query"),
        ({"endpoint": "x" * 300}, "'endpoint' in the query"),
    ],
)
def test_wrong_parameters_are_named(ada: Browser, query: dict[str, Any], expected: str) -> None:
    response = ada.get(f"{API}/minutes", params=query, headers={"accept": "application/json"})
    assert response.status_code == 400
    assert expected in response.json()["error"]["message"]


def test_the_step_that_an_error_suggests_works(ada: Browser) -> None:
    query = {"since": traffic.now() - 86_400, "step": 60}
    message = ada.get(f"{API}/minutes", params=query).json()["error"]["message"]
    query["step"] = int(message.partition("step=")[2].partition("'")[0])
    assert ada.get(f"{API}/minutes", params=query).status_code == 200


def test_an_empty_history_has_empty_answers(ada: Browser) -> None:
    series, ranking = (ada.get(f"{API}/{name}").json() for name in ("minutes", "slowest"))
    assert series["total"]["count"] == 0
    assert ranking["slowest"] == ranking["failing"] == []
    assert ada.get(f"{API}/drafts/slug/requests").json() == []


def test_a_request_has_its_neighbours(tried: Tried, ada: Browser) -> None:
    rows = [answered(f"/{at}", endpoint="even" if at % 2 == 0 else "odd") for at in range(5)]
    record(tried, *rows[:3])
    record(tried, *rows[3:])
    found = [ada.get(f"{API}/requests/{number}").json() for number in (1, 3, 5)]
    assert [each["request"]["path"] for each in found] == ["/0", "/2", "/4"]
    assert [(each["before"], each["after"]) for each in found] == [(None, 3), (1, 5), (3, None)]


def test_a_request_of_a_draft_is_in_its_own_history(tried: Tried, ada: Browser) -> None:
    record(tried, answered("/live"))
    record(tried, answered("/draft"), draft="slug")
    assert ada.get(f"{API}/requests/1").json()["request"]["path"] == "/live"
    assert ada.get(f"{API}/drafts/slug/requests/1").json()["request"]["path"] == "/draft"
    assert ada.get(f"{API}/drafts/topic/requests").json()[0]["path"] == "/draft"


@pytest.mark.parametrize("number", ["0", "-1", "7", str(1 << 63), str(10**40)])
def test_unknown_ids_are_not_found(tried: Tried, ada: Browser, number: str) -> None:
    record(tried, answered())
    response = ada.get(f"{API}/requests/{number}")
    assert response.status_code == 404


def test_requests_before_an_id_are_older(tried: Tried, ada: Browser) -> None:
    record(tried, *(answered(f"/{at}") for at in range(1, 7)))
    older = ada.get(f"{API}/requests", params={"before": 4, "limit": 2}).json()
    assert [request["path"] for request in older] == ["/2", "/3"]


@pytest.mark.parametrize("path", ["minutes", "slowest", "requests", "requests/1"])
def test_a_viewer_reads_no_requests(tried: Tried, path: str) -> None:
    tried.add("v@example.com", project=Role.VIEWER)
    assert tried.as_person("v@example.com").get(f"{API}/{path}").status_code == 403
