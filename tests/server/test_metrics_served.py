"""`/metrics` of a real server, with jobs, topics and people who may not see it."""

from __future__ import annotations

import re

import pytest

from tests.support.patience import wait_for
from tests.support.shop import BEAT, Shop, Work

FAILS = """
payload: { number: integer }
steps:
  - throw: { status: 500, message: not today }
"""


def metric(served: Work, series: str) -> float | None:
    """Return the value of a series; None where there is none."""
    answer = served.control.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = re.search(rf"^bbops_{re.escape(series)} (\S+)$", answer.text, re.MULTILINE)
    return float(found[1]) if found else None


@pytest.mark.long
def test_jobs_are_counted_where_they_are_and_as_they_run(shop: Shop) -> None:
    served = shop(
        tasks__beat="every: 1s\nfunction: beat\n", functions__beat=BEAT,
        functions__fulfil=FAILS, triggers__paid=(
            "event: order.paid\nfunction: fulfil\nretry: { attempts: 1 }\n"
        ),
    )  # fmt: skip
    name = served.status()["name"]
    assert served.order(1) == 201
    dead = f'jobs{{project="{name}",work="triggers/paid",state="dead"}}'
    wait_for(lambda: metric(served, dead) == 1)
    took = f'job_seconds_count{{project="{name}",work="tasks/beat"}}'
    wait_for(lambda: (metric(served, took) or 0) >= 2)
    waited = f'job_wait_seconds_count{{project="{name}",work="tasks/beat"}}'
    assert (metric(served, waited) or 0) >= 2
    assert (metric(served, f'job_wait_seconds_bucket{{project="{name}",work="tasks/beat",le="60"}}')
            or 0) >= 2  # fmt: skip
    assert metric(served, f'outbox_oldest_seconds{{project="{name}"}}') == 0
    snapshot = metric(served, f'snapshot_age_seconds{{project="{name}"}}')
    assert (snapshot is None) == (served.schema is None)
    assert metric(served, f'realtime_connections{{project="{name}"}}') == 0
    assert metric(served, f'project_ready{{project="{name}"}}') == 1


HOOK = """
webhook: { path: /hooks/pay, signature: { scheme: github, secret: "${ env.HOOK_SECRET }" } }
function: beat
"""


@pytest.mark.long
def test_deliveries_with_a_wrong_signature_are_counted(shop: Shop) -> None:
    served = shop(
        project="bbops: 1\nname: shop\nenv: { HOOK_SECRET: { secret: true } }\n",
        triggers__pay=HOOK, functions__beat=BEAT,
    )  # fmt: skip
    for _ in range(3):
        assert served.api.post("/hooks/pay", json={}).status_code == 401
    name = served.status()["name"]
    refused = f'deliveries_total{{project="{name}",webhook="triggers/pay",outcome="refused"}}'
    assert metric(served, refused) == 3
    assert served.query("SELECT 1 FROM _bbops_received") == []


BOARD = "topic: board\nauthentication: None\nevents: { said: { text: string } }\n"


@pytest.mark.long
def test_clients_of_topics_are_counted_while_they_are_there(shop: Shop) -> None:
    served = shop(realtime__board=BOARD)
    series = f'realtime_connections{{project="{served.status()["name"]}"}}'
    assert metric(served, series) == 0
    with served.api.stream("GET", "/~realtime/board") as stream:
        assert stream.status_code == 200
        wait_for(lambda: metric(served, series) == 1)
    wait_for(lambda: metric(served, series) == 0)
