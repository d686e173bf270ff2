"""The metrics of a server: counted where things happen, added up, and rendered for Prometheus."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bbops.runtime.work.values import Cause, Claim
from bbops.runtime.work.worker import Attempt, AttemptStart, TickReport
from bbops_server.accounts.rules import Caller, GrantScope, Permission, Role, Scope, may
from bbops_server.control_plane.projects.metrics import METRICS, render_metrics
from bbops_server.data_plane.work.counting import MOST_SERIES, OTHER, WorkCounts
from bbops_server.process.messages.lifecycle import MetricSample

LINE = re.compile(r'bbops_[a-z_]+\{([a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*\} (-?[0-9.e+-]+|\+Inf|NaN)')
"""A sample in the text format, as Prometheus reads it."""


def claim(work: str, *, attempt: int = 1, is_bulk: bool = False) -> Claim:
    return Claim(1, f"{work}@1", work, "{}", attempt, attempt, "", "", 0, Cause(), is_bulk=is_bulk)


def values(counts: WorkCounts, name: str) -> dict[tuple[str, ...], float]:
    return {
        (one.project, *one.labels.values()): one.value
        for one in counts.samples() if one.name == name
    }  # fmt: skip


def test_attempts_are_counted_by_how_long_they_took() -> None:
    counts = WorkCounts()
    for seconds in (0.004, 0.005, 0.3, 7200):
        counts.ended("shop", Attempt(claim("tasks/beat"), "done", seconds))
    buckets = values(counts, "job_seconds_bucket")
    assert buckets["shop", "tasks/beat", "0.005"] == 2
    assert buckets["shop", "tasks/beat", "0.5"] == 3
    assert buckets["shop", "tasks/beat", "3600"] == 3
    assert buckets["shop", "tasks/beat", "+Inf"] == 4
    assert values(counts, "job_seconds_count") == {("shop", "tasks/beat"): 4}
    assert values(counts, "job_seconds_sum") == {("shop", "tasks/beat"): 7200.309}


def test_only_the_first_attempt_says_how_long_a_job_waited() -> None:
    counts = WorkCounts()
    counts.happened("shop", AttemptStart(claim("tasks/beat"), 1_500))
    counts.happened("shop", AttemptStart(claim("tasks/beat", attempt=2), 90_000))
    assert values(counts, "job_wait_seconds_sum") == {("shop", "tasks/beat"): 1.5}


def test_missed_ticks_and_deliveries_are_counted() -> None:
    counts = WorkCounts()
    counts.happened("shop", TickReport("tasks/beat", 1, missed=3))
    counts.happened("shop", TickReport("tasks/beat", 1))
    for outcome in ("retrying", "done"):
        sent = claim("webhooks/partners", is_bulk=True)
        counts.ended("shop", Attempt(sent, outcome, 0.1))  # type: ignore[arg-type]
    counts.ended("shop", Attempt(claim("webhooks/partners/fan-out"), "done", 0.1))
    assert values(counts, "ticks_missed_total") == {("shop", "tasks/beat"): 3}
    assert values(counts, "deliveries_total") == {
        ("shop", "partners", "retrying"): 1, ("shop", "partners", "done"): 1,
    }  # fmt: skip


def test_tokens_of_agents_are_counted_by_agent() -> None:
    counts = WorkCounts()
    for work, tokens in (("agents/helpdesk/chat", 20), ("agents/helpdesk/event", 5)):
        counts.ended("shop", Attempt(claim(work), "waiting", 0.1, tokens=tokens))
    counts.ended("shop", Attempt(claim("agents/silent/event"), "done", 0.1))
    assert values(counts, "agent_tokens_total") == {("shop", "helpdesk"): 25}


def test_names_without_end_do_not_grow_the_server() -> None:
    counts = WorkCounts()
    for number in range(MOST_SERIES + 500):
        counts.ended("shop", Attempt(claim(f"tasks/t{number}"), "done", 0.1))
    found = values(counts, "job_seconds_count")
    assert len(found) == MOST_SERIES + 1
    assert found["shop", OTHER] == 500


def test_each_sample_is_a_line_that_prometheus_reads() -> None:
    counts = WorkCounts()
    counts.ended("shop", Attempt(claim("tasks/beat"), "done", 0.25))
    odd = MetricSample("jobs", {"work": 'a"b\\c\nd', "state": "dead"}, 2.0, "shop")
    text = render_metrics(
        [odd, *counts.samples(), MetricSample("realtime_connections", {}, 1e6, "shop")]
    )
    lines = text.splitlines()
    assert 'bbops_jobs{project="shop",work="a\\"b\\\\c\\nd",state="dead"} 2' in lines
    assert text.endswith("\n")
    samples = [one for one in lines if not one.startswith("#")]
    assert [one for one in samples if LINE.fullmatch(one) is None] == []
    types = [one.split() for one in lines if one.startswith("# TYPE")]
    assert [one[2:] for one in types] == [
        ["bbops_jobs", "gauge"], ["bbops_job_seconds", "histogram"],
        ["bbops_realtime_connections", "gauge"],
    ]  # fmt: skip


def test_each_metric_says_what_it_means() -> None:
    assert all(text.endswith(".") and "\n" not in text for _, text in METRICS.values())
    for name, (kind, _) in METRICS.items():
        assert name.endswith("_total") == (kind == "counter")


@pytest.mark.parametrize("role", Role)
def test_maintainers_of_the_workspace_read_metrics_and_agents_do_not(role: Role) -> None:
    permission = Permission.READ_METRICS
    is_enough = role in {Role.MAINTAINER, Role.OWNER}
    assert may(Caller("session", person="p", role=role), permission) is is_enough
    member = Caller("session", person="p", projects={"shop": Role.OWNER})
    agent = Caller("grant", person="p", role=Role.OWNER, granted=frozenset(GrantScope))
    assert not may(member, permission)
    assert not may(agent, permission)
    token = Caller("token", person="p", role=role, scopes=frozenset({Scope.READ}))
    assert may(token, permission) is is_enough
    assert not may(replace(token, scopes=frozenset({Scope.GIT})), permission)
