"""Jobs of drafts: in a queue of their own, where nothing runs unless somebody asks for it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from tests.support.drafting import answered, branch
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.shop import BEAT, Shop, Work, write
from tests.support.small_project import endpoint

TOPIC: Final = "topic"
TICKETS: Final = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string, maxLength: 40 }
"""
ON_TICKET: Final = "database: { table: tickets, operation: insert }\nfunction: copy\n"
COPY: Final = """
steps:
  - insert: { table: marks, data: { number: "${ trigger.newRow.id }", word: sold } }
"""
SELL: Final = """
steps:
  - insert: { table: tickets, data: { title: one } }
  - enqueue: { function: later, input: { number: 5 } }
    as: job
  - return: { value: "${ vars.job }" }
"""
LATER: Final = """
input: { number: integer }
steps:
  - insert: { table: marks, data: { number: "${ input.number }", word: later } }
"""
MARKED: Final = """
steps:
  - find: { table: marks, select: [word], orderBy: id }
    as: marks
  - return: { value: "${ vars.marks | pluck('word') }" }
"""


@contextmanager
def draft(served: Work) -> Iterator[httpx.Client]:
    """Push a branch with work of every kind, and give a client of its draft."""
    with branch(served, TOPIC):
        write(served, {
            "tables/tickets.yaml": TICKETS, "triggers/ticket.yaml": ON_TICKET,
            "functions/copy.yaml": COPY, "functions/sell.yaml": SELL,
            "functions/later.yaml": LATER, "functions/marked.yaml": MARKED,
            "endpoints/sell.yaml": endpoint("POST", "/tickets", "sell"),
            "endpoints/marked.yaml": endpoint("GET", "/marks", "marked"),
            "tasks/beat.yaml": "every: 1s\nfunction: beat\n", "functions/beat.yaml": BEAT,
        })  # fmt: skip
    wait_for(lambda: TOPIC in served.bbops("drafts", "list").stdout)
    made = json.loads(served.bbops("drafts", "token", TOPIC, "--json").stdout)
    headers = {"x-draft-token": made["token"]}
    with httpx.Client(base_url=made["url"], headers=headers, timeout=120) as client:
        assert answered(lambda: client.get("marks")).json() == []
        yield client


def jobs(served: Work, *more: str) -> list[dict[str, Any]]:
    found = served.bbops("jobs", "list", "--draft", TOPIC, "--json", *more)
    assert found.returncode == 0, found.stderr
    return list(json.loads(found.stdout)["jobs"])


@pytest.mark.long
def test_jobs_of_a_draft_are_held_and_run_one_by_one_on_request(shop: Shop) -> None:
    served = shop()
    with draft(served) as client:
        assert client.post("orders", json={"number": 1}).status_code == 201
        asked = client.post("tickets").json()
        assert asked["isNew"] is True
        wait_for(lambda: len(jobs(served)) == 3)
        held = {one["work"]: one for one in jobs(served)}
        assert {one["state"] for one in held.values()} == {"held"}
        assert held.keys() == {"triggers/paid", "triggers/ticket", "functions/later"}
        assert "run on request" in held["triggers/paid"]["error"]
        assert client.get("marks").json() == ["asked"]

        release = served.bbops("jobs", "release", asked["id"], "--draft", TOPIC)
        assert release.stdout == "released 1 job\n", release.stderr
        wait_for(lambda: client.get("marks").json() == ["asked", "later"])
        (sold,) = (one["name"] for one in jobs(served) if one["work"] == "triggers/ticket")
        asked = served.bbops("jobs", "run", sold, "--draft", TOPIC)
        assert asked.stdout.startswith(f"{sold} runs now"), asked.stderr
        wait_for(lambda: client.get("marks").json() == ["asked", "later", "sold"])
        wait_for(lambda: len(jobs(served)) == 1)
        assert served.bbops("jobs", "release", "--draft", TOPIC).stdout == "released 1 job\n"
        wait_for(lambda: jobs(served) == [])
        assert sorted(client.get("marks").json()) == ["asked", "begun", "done", "later", "sold"]

        run = served.bbops("tasks", "run", "beat", "--draft", TOPIC)
        assert "started tasks/beat@" in run.stdout, run.stderr
        wait_for(lambda: client.get("marks").json().count("beat") == 1)
    assert served.query("SELECT * FROM marks") == []  # nothing of it is live
    assert served.states() == {}


@pytest.mark.long
def test_a_draft_works_by_itself_for_as_long_as_somebody_lets_it(shop: Shop) -> None:
    served = shop()
    with draft(served) as client:
        client.post("orders", json={"number": 1})
        wait_for(lambda: len(jobs(served)) == 1)
        on = served.bbops("drafts", "work", TOPIC, "--for", "2h")
        assert on.stdout == (
            "jobs and tasks of topic run automatically for 2h\nreleased 1 job\n"
        ), on.stderr
        wait_for(lambda: client.get("marks").json().count("beat") >= 2)
        wait_for(lambda: "done" in client.get("marks").json())
        off = served.bbops("drafts", "work", TOPIC, "--off")
        assert off.stdout == "jobs of topic are held again\n", off.stderr
        beats = client.get("marks").json().count("beat")
        client.post("orders", json={"number": 2})
        wait_for(lambda: [one["state"] for one in jobs(served)] == ["held"])
        assert client.get("marks").json().count("beat") <= beats + 1

    wrong = served.bbops("drafts", "work", TOPIC, "--for", "2 hours")
    assert (wrong.returncode, "'2 hours' is not a time such as 30m or 2h" in wrong.stderr) == (
        2, True,
    )  # fmt: skip
    assert served.bbops("drafts", "work", TOPIC, "--for", "2d").returncode == 2


HOOK: Final = """
webhook:
  path: /hooks/pay
  id: id
  signature: { header: x-signature, secret: "${ env.HOOK_SECRET }" }
function: paid
"""
PROJECT: Final = "bbops: 1\nname: shop\nenv: { HOOK_SECRET: { secret: true, required: false } }\n"


@pytest.mark.long
def test_a_draft_takes_webhooks_signed_with_its_own_secret(shop: Shop) -> None:
    served = shop()
    with draft(served) as client:
        state = str(served.repository / ".bbops/state")
        wanted = ("HOOK_SECRET", "only-for-drafts", "--drafts", "--state", state)
        assert served.bbops("env", "set", *wanted).returncode == 0
        with branch_again(served):
            paid = "steps:\n  - insert: { table: marks, data: { number: 1, word: paid } }\n"
            write(served, {
                "project.yaml": PROJECT, "triggers/pay.yaml": HOOK, "functions/paid.yaml": paid,
            })  # fmt: skip
        newest = git(served.repository, "rev-parse", TOPIC)[:12]
        wait_for(lambda: client.get("marks").headers.get("x-release") == newest)
        body = b'{"id": 1}'
        signed = hmac.digest(b"only-for-drafts", body, "sha256").hex()
        for signature, status in (("0" * 64, 401), (signed, 202), (signed, 202)):
            headers = {"x-signature": signature, "content-type": "application/json"}
            assert client.post("hooks/pay", content=body, headers=headers).status_code == status
        wait_for(lambda: [one["work"] for one in jobs(served)] == ["triggers/pay"])
        assert served.bbops("jobs", "release", "--draft", TOPIC).stdout == "released 1 job\n"
        wait_for(lambda: client.get("marks").json() == ["paid"])


FAILS: Final = """
input: { number: integer }
steps:
  - insert: { table: marks, data: { number: "${ input.number }", word: tried } }
  - throw: { status: 500, message: not today }
"""


@pytest.mark.long
def test_a_job_that_fails_in_a_draft_waits_for_somebody_and_says_why(shop: Shop) -> None:
    served = shop()
    with draft(served) as client:
        with branch_again(served):
            write(served, {"functions/later.yaml": FAILS})
        newest = git(served.repository, "rev-parse", TOPIC)[:12]
        wait_for(lambda: client.get("marks").headers.get("x-release") == newest)
        job = client.post("tickets").json()["id"]
        wait_for(lambda: len(jobs(served)) == 2)
        served.bbops("jobs", "release", job, "--draft", TOPIC)
        wait_for(lambda: "not today" in {one["error"] for one in jobs(served)})
        (failed,) = (one for one in jobs(served) if one["error"] == "not today")
        assert (failed["state"], failed["attempts"]) == ("held", 1)
        shown = served.bbops("jobs", "show", job, "--draft", TOPIC).stdout
        assert "functions/later.yaml:4" in shown
        cancel = served.bbops("jobs", "cancel", job, "--draft", TOPIC)
        assert cancel.stdout == f"cancelled {job}\n"


@contextmanager
def branch_again(served: Work) -> Iterator[None]:
    git(served.repository, "checkout", "-q", TOPIC)
    try:
        yield
    finally:
        git(served.repository, "checkout", "-q", "main")
